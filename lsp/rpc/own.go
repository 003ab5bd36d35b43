package rpc

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// protocol's decoders make one copy of a message and let all strings point into
// it. Whoever keeps the URI of a document would keep all of its first text.

const protocolPath = "go.lsp.dev/protocol"

// aliasing remembers by reflect.Type whether decoding may leave strings that
// share memory.
var aliasing sync.Map

// ownStrings gives every string below v (a pointer) memory of its own, if its
// type has parts that protocol's decoders fill.
func ownStrings(v any) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	t := rv.Type()
	known, ok := aliasing.Load(t)
	if !ok {
		known = reaches(t, map[reflect.Type]bool{})
		aliasing.Store(t, known)
	}
	if known.(bool) {
		own(rv.Elem())
	}
}

// reaches reports whether a protocol type lies anywhere below t.
func reaches(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if t.PkgPath() == protocolPath {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return reaches(t.Elem(), seen)
	case reflect.Map:
		return reaches(t.Key(), seen) || reaches(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if reaches(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// own clones the strings below v, which is addressable.
func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 {
			v.SetString(strings.Clone(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if e := v.Elem(); e.Kind() == reflect.Pointer {
			own(e)
		} else {
			c := reflect.New(e.Type()).Elem()
			c.Set(e)
			own(c)
			v.Set(c)
		}
	case reflect.Slice:
		switch elem := v.Type().Elem().Kind(); {
		case elem == reflect.Uint8:
			if !v.IsNil() {
				v.SetBytes(bytes.Clone(v.Bytes()))
			}
		case !scalar(elem):
			for i := range v.Len() {
				own(v.Index(i))
			}
		}
	case reflect.Array:
		if !scalar(v.Type().Elem().Kind()) {
			for i := range v.Len() {
				own(v.Index(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		for it := v.MapRange(); it.Next(); {
			key.Set(it.Key())
			elem.Set(it.Value())
			own(key)
			own(elem)
			m.SetMapIndex(key, elem)
		}
		v.Set(m)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				// Optional and Nullable keep their value unexported. The value
				// was just decoded, so nobody else sees it.
				f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			}
			own(f)
		}
	}
}

func scalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Complex128
}
