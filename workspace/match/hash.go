package match

import (
	"hash/maphash"
	"math/bits"
)

var (
	seed = maphash.MakeSeed()
	// Random, so that no file can be made for its lines to collide.
	keyA, keyB = maphash.String(seed, "a") | 1, maphash.String(seed, "b") | 1
)

// hashLine hashes a squashed line. Most lines of files with very many are short, and a call of maphash costs more than
// they have to say.
func hashLine[T string | []byte](s T) uint64 {
	n := len(s)
	var a, b uint64
	switch {
	case n > 16:
		return maphash.String(seed, string(s))
	case n > 8:
		a, b = load64(s, 0), load64(s, n-8)
	case n == 8:
		a = load64(s, 0)
	case n >= 4:
		a = uint64(load32(s, 0)) | uint64(load32(s, n-4))<<32
	case n > 0:
		a = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	// The words and the length tell the line; multiplying spreads them (as wyhash does).
	hi, lo := bits.Mul64(a^keyA^uint64(n)*0x9E3779B97F4A7C15, b^keyB)
	hi2, lo2 := bits.Mul64(hi^lo^keyB, a+keyA)
	return hi2 ^ lo2
}

func load32[T string | []byte](s T, i int) uint32 {
	_ = s[i+3]
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

func load64[T string | []byte](s T, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// plainRun returns the position of the first byte of s from at on that squash would not simply keep (white space,
// quotes, controls, what is not ASCII), len(s) if there is none.
func plainRun(s string, at int) int {
	const (
		ones, tops = 0x0101010101010101, 0x8080808080808080
	)
	for ; at+8 <= len(s); at += 8 {
		v := load64(s, at)
		x, y := v^ones*'\'', v^ones*'`'
		// The top bit of each byte that is below '!', or not ASCII, or a quote; a borrow can spoil bytes above the lowest
		// such byte only.
		m := (v - ones*'!' | v | (x-ones)&^x | (y-ones)&^y) & tops
		if m != 0 {
			return at + bits.TrailingZeros64(m)/8
		}
	}
	for at < len(s) && s[at] > ' ' && s[at] < 0x80 && squashed[s[at]] == s[at] {
		at++
	}
	return at
}
