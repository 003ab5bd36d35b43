package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/tools/secret"
)

// collector sends events as log records to an OTLP collector: the JSON encoding of
// OTLP/HTTP, POST …/v1/logs (opentelemetry-proto 1.x). That is a page of code; the
// SDK would make the program larger and start it slower for everybody.
type collector struct {
	url      string
	http     *http.Client
	resource []keyValue
	redact   *secret.Redactor
}

// exportTimeout bounds one export.
const exportTimeout = 5 * time.Second

func newCollector(opt Options) *collector {
	url := strings.TrimRight(opt.OTLPEndpoint, "/")
	if !strings.HasSuffix(url, "/v1/logs") {
		url += "/v1/logs"
	}
	return &collector{
		url: url, redact: opt.Redact, http: &http.Client{Timeout: exportTimeout},
		resource: attributes(map[string]any{"service.name": "redline", "service.version": opt.Version}),
	}
}

type keyValue struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// attributes returns values in the protocol's form, in which 64 bit integers are
// strings.
func attributes(m map[string]any) []keyValue {
	out := []keyValue{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var v map[string]any
		switch x := m[k].(type) {
		case string:
			v = map[string]any{"stringValue": x}
		case bool:
			v = map[string]any{"boolValue": x}
		case int:
			v = map[string]any{"intValue": strconv.Itoa(x)}
		case int64:
			v = map[string]any{"intValue": strconv.FormatInt(x, 10)}
		case float64:
			v = map[string]any{"doubleValue": x}
		default:
			v = map[string]any{"stringValue": fmt.Sprint(x)}
		}
		out = append(out, keyValue{k, v})
	}
	return out
}

func (c *collector) export(batch []Event) error {
	type object = map[string]any
	records := make([]object, 0, len(batch))
	for _, ev := range batch {
		a := maps.Clone(ev.Attributes)
		if a == nil {
			a = object{}
		}
		a["event.name"] = "redline." + ev.Name
		severity, text := 9, "INFO"
		if ev.Name == "api_error" {
			severity, text = 17, "ERROR"
		}
		nanos := strconv.FormatInt(ev.Time.UnixNano(), 10)
		records = append(records, object{
			"timeUnixNano": nanos, "observedTimeUnixNano": nanos, "severityNumber": severity, "severityText": text,
			"body": object{"stringValue": ev.Name}, "attributes": attributes(a),
		})
	}
	raw, err := json.Marshal(object{"resourceLogs": []object{{
		"resource":  object{"attributes": c.resource},
		"scopeLogs": []object{{"scope": object{"name": "redline"}, "logRecords": records}},
	}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.url, bytes.NewReader(c.redact.JSON(raw)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", res.Status)
	}
	return nil
}

func (c *collector) close() error {
	c.http.CloseIdleConnections()
	return nil
}
