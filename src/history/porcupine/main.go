// Program porcupine checks a recorded history by Porcupine, a checker that shares no code with ours:
//
//	porcupine FILE
//
// It prints yes, no or unknown. The exit status is that of `harness check FILE`: 0, 1 and 3; 2 if the file is no history.
// The format is that of history_file.h. Sums are left to `harness check`, which refuses damaged files.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	headerBytes  = 32
	sumBytes     = 8
	recordBytes  = 48
	blockRecords = 4096

	version  = 1
	flagYes  = 1
	flagSays = 2

	neverReturned = math.MaxUint64

	// A small history takes milliseconds. Where many calls of a key overlap, the search may never end.
	limit = 20 * time.Second
)

// Kinds of calls, by their numbers in a file.
const (
	find = iota
	insert
	update
	upsert
	erase
	kinds
)

// An input is an operation and its key.
type input struct {
	key, value uint64 // a find has no value
	kind       uint8
}

// An output is an answer; `returned` is false for a call that has none.
type output struct {
	returned, yes, saysWas bool
	found, was             uint64 // found: by a find
}

// A register is the value of a key, or nothing. A key is absent at first.
type register struct {
	there bool
	value uint64
}

// step runs an operation, and says whether its answer is right.
func step(state, in, out interface{}) (bool, interface{}) {
	before, op, answer := state.(register), in.(input), out.(output)
	after := before
	yes := before.there
	switch op.kind {
	case insert:
		yes = !before.there
		if yes {
			after = register{true, op.value}
		}
	case update:
		if yes {
			after.value = op.value
		}
	case upsert:
		yes = !before.there
		after = register{true, op.value}
	case erase:
		after = register{}
	}
	if !answer.returned {
		return true, after
	}
	right := yes == answer.yes
	if op.kind == find && yes {
		right = right && before.value == answer.found
	}
	if answer.saysWas {
		right = right && before == register{true, answer.was}
	}
	return right, after
}

// partition divides a history by keys.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	places := map[uint64]int{}
	var parts [][]porcupine.Operation
	for _, call := range history {
		key := call.Input.(input).key
		place, known := places[key]
		if !known {
			place = len(parts)
			places[key] = place
			parts = append(parts, nil)
		}
		parts[place] = append(parts[place], call)
	}
	return parts
}

// moment maps times without sign to times with sign, in the same order. So a call that never returned ends last. It may
// take effect after all others, which is the same as not at all.
func moment(time uint64) int64 { return int64(time ^ 1<<63) }

func callOf(record []byte) (porcupine.Operation, error) {
	number := binary.LittleEndian.Uint64
	kind, flags := record[44], record[45]
	if kind >= kinds || flags > flagYes|flagSays {
		return porcupine.Operation{}, fmt.Errorf("a record of kind %d with flags %d", kind, flags)
	}
	in := input{key: number(record), kind: kind}
	out := output{returned: number(record[32:]) != neverReturned, yes: flags&flagYes != 0, saysWas: flags&flagSays != 0,
		was: number(record[16:])}
	if kind == find {
		out.found = number(record[8:])
	} else {
		in.value = number(record[8:])
	}
	return porcupine.Operation{Input: in, Output: out, Call: moment(number(record[24:])),
		Return: moment(number(record[32:]))}, nil
}

func read(path string) ([]porcupine.Operation, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(bytes) < headerBytes || string(bytes[:8]) != "latchhis" || binary.LittleEndian.Uint32(bytes[8:]) != version {
		return nil, fmt.Errorf("%s is no history of version %d", path, version)
	}
	calls := binary.LittleEndian.Uint64(bytes[16:])
	var history []porcupine.Operation
	for at := headerBytes; uint64(len(history)) < calls; at += recordBytes {
		if len(history)%blockRecords == 0 {
			at += sumBytes
		}
		if at+recordBytes > len(bytes) {
			return nil, fmt.Errorf("%s ends within its calls", path)
		}
		call, err := callOf(bytes[at : at+recordBytes])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		history = append(history, call)
	}
	return history, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "porcupine: write one file: porcupine FILE")
		os.Exit(2)
	}
	history, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "porcupine:", err)
		os.Exit(2)
	}
	model := porcupine.Model{Partition: partition, Init: func() interface{} { return register{} }, Step: step}
	switch porcupine.CheckOperationsTimeout(model, history, limit) {
	case porcupine.Ok:
		fmt.Println("yes")
	case porcupine.Illegal:
		fmt.Println("no")
		os.Exit(1)
	default:
		fmt.Println("unknown")
		os.Exit(3)
	}
}
