package gemini

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// detail is an entry of details in Google's error object; which members it has depends
// on its @type (google.rpc.ErrorInfo, Help, RetryInfo, QuotaFailure).
type detail struct {
	Type       string            `json:"@type"`
	Reason     string            `json:"reason"`
	Domain     string            `json:"domain"`
	Metadata   map[string]string `json:"metadata"`
	RetryDelay string            `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
	Links []struct {
		URL string `json:"url"`
	} `json:"links"`
}

// The reasons of google.rpc.ErrorInfo that are acted on.
const (
	reasonSecurityPolicy = "SECURITY_POLICY_VIOLATED"
	reasonExhausted      = "QUOTA_EXHAUSTED"
)

func details(raw []json.RawMessage) []detail {
	var out []detail
	for _, r := range raw {
		var d detail
		if json.Unmarshal(r, &d) == nil {
			out = append(out, d)
		}
	}
	return out
}

// advice says what a person can do about an error that is refused for want of a right
// or a setting of the project; empty when nothing is known.
func advice(ds []detail) string {
	var info detail
	link := ""
	for _, d := range ds {
		if d.Reason != "" {
			info = d
		}
		if len(d.Links) > 0 && link == "" && isWeb(d.Links[0].URL) {
			link = d.Links[0].URL
		}
	}
	m := info.Metadata
	project := strings.TrimPrefix(m["consumer"], "projects/")
	if project == "" {
		project = m["containerInfo"]
	}
	at := func(s string) string {
		if link != "" {
			return s + " at " + link
		}
		return s
	}
	switch info.Reason {
	case "SERVICE_DISABLED":
		service := m["service"]
		if service == "" {
			service = "the API"
		}
		return at(fmt.Sprintf("Enable %s for the project %s", service, project)) + ", wait a few minutes and try again."
	case "CONSUMER_INVALID", "CONSUMER_SUSPENDED", "RESOURCE_PROJECT_INVALID":
		return fmt.Sprintf("Set GOOGLE_CLOUD_PROJECT to the ID of a project that exists and that you may use, not %q.", project)
	case "USER_PROJECT_DENIED":
		return fmt.Sprintf("The account needs the role Service Usage Consumer (roles/serviceusage.serviceUsageConsumer) on the project %s, or set GOOGLE_CLOUD_PROJECT to another one.", project)
	case "IAM_PERMISSION_DENIED":
		return fmt.Sprintf("The account needs the permission %s on %s; ask the project's owner for a role that has it, or set GOOGLE_CLOUD_PROJECT to another project.", m["permission"], m["resource"])
	case "BILLING_DISABLED":
		return at("Switch on billing for the project " + project)
	case "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
		return "The credentials lack the scope cloud-platform: sign in again with it."
	case reasonSecurityPolicy:
		return "The project's service perimeter (VPC Service Controls) does not allow this request; ask its administrator."
	case "VALIDATION_REQUIRED":
		if link == "" && isWeb(m["validation_link"]) {
			link = m["validation_link"]
		}
		return at("Verify the account") + ", then try again."
	}
	return ""
}

// isWeb reports whether a link of an answer can be shown for opening.
func isWeb(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "https" && u.Host != ""
}
