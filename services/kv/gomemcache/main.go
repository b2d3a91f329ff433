// Checks a server of memcached's protocol by the client gomemcache: its address is the only argument. Prints "ok", or what differed.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/bradfitz/gomemcache/memcache"
)

var failed bool

func check(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		fmt.Printf("%s: got %v, expected %v\n", what, got, want)
		failed = true
	}
}

func checkError(what string, got, want error) {
	if !errors.Is(got, want) {
		fmt.Printf("%s: got the error %v, expected %v\n", what, got, want)
		failed = true
	}
}

// value returns the value of a key, or the error's text.
func value(client *memcache.Client, key string) string {
	item, err := client.Get(key)
	if err != nil {
		return err.Error()
	}
	return string(item.Value)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "expected one argument, the server's address, as in 127.0.0.1:11311")
		os.Exit(2)
	}
	client := memcache.New(os.Args[1])
	checkError("Ping", client.Ping(), nil)

	checkError("Set", client.Set(&memcache.Item{Key: "a", Value: []byte("1"), Flags: 7}), nil)
	item, err := client.Get("a")
	checkError("Get", err, nil)
	if err == nil {
		check("Get's value", string(item.Value), "1")
		check("Get's flags", item.Flags, uint32(7))
	}
	_, err = client.Get("absent")
	checkError("Get of an absent key", err, memcache.ErrCacheMiss)

	var keys []string
	for i := 0; i < 100; i++ {
		key := fmt.Sprintf("k%d", i)
		keys = append(keys, key)
		checkError("Set "+key, client.Set(&memcache.Item{Key: key, Value: []byte(key)}), nil)
	}
	items, err := client.GetMulti(append(keys, "absent"))
	checkError("GetMulti", err, nil)
	check("GetMulti's size", len(items), len(keys))
	for _, key := range keys {
		if items[key] == nil || string(items[key].Value) != key {
			check("GetMulti "+key, items[key], key)
		}
	}

	checkError("Add of a key that is there", client.Add(&memcache.Item{Key: "a", Value: []byte("2")}), memcache.ErrNotStored)
	checkError("Replace of an absent key", client.Replace(&memcache.Item{Key: "absent", Value: []byte("2")}), memcache.ErrNotStored)
	checkError("Append", client.Append(&memcache.Item{Key: "k1", Value: []byte("!")}), nil)
	checkError("Prepend", client.Prepend(&memcache.Item{Key: "k1", Value: []byte("!")}), nil)
	check("Get after both", value(client, "k1"), "!k1!")

	first, err := client.Get("k2")
	checkError("Get before CompareAndSwap", err, nil)
	second, err := client.Get("k2")
	checkError("Get before CompareAndSwap", err, nil)
	if first != nil && second != nil {
		first.Value, second.Value = []byte("first"), []byte("second")
		checkError("CompareAndSwap", client.CompareAndSwap(first), nil)
		checkError("CompareAndSwap of an older item", client.CompareAndSwap(second), memcache.ErrCASConflict)
		check("Get after CompareAndSwap", value(client, "k2"), "first")
		checkError("Delete before CompareAndSwap", client.Delete("k2"), nil)
		checkError("CompareAndSwap of a deleted item", client.CompareAndSwap(first), memcache.ErrCacheMiss)
	}

	number, err := client.Increment("a", 41)
	checkError("Increment", err, nil)
	check("Increment's number", number, uint64(42))
	number, err = client.Decrement("a", 100)
	checkError("Decrement", err, nil)
	check("Decrement's number", number, uint64(0))
	_, err = client.Increment("absent", 1)
	checkError("Increment of an absent key", err, memcache.ErrCacheMiss)

	checkError("Touch", client.Touch("k3", 1000), nil)
	check("Get after Touch", value(client, "k3"), "k3")
	checkError("Touch to a time that is over", client.Touch("k3", -1), nil)
	_, err = client.Get("k3")
	checkError("Get of an item whose time is over", err, memcache.ErrCacheMiss)
	checkError("Touch of an absent key", client.Touch("absent", 1), memcache.ErrCacheMiss)

	checkError("Delete", client.Delete("k4"), nil)
	checkError("Delete of an absent key", client.Delete("k4"), memcache.ErrCacheMiss)
	checkError("FlushAll", client.FlushAll(), nil)
	_, err = client.Get("k5")
	checkError("Get after FlushAll", err, memcache.ErrCacheMiss)

	if failed {
		os.Exit(1)
	}
	fmt.Println("ok")
}
