"""Random commands of memcached's and of redis' protocol, to which two servers must give the same answers whenever they are asked."""

# No T with `ma`: memcached 1.6.18 gives the time to the item that was there, and loses it if a longer number makes a new one.
META_LETTERS = {"mg": "cfhklOqstvNRTu", "ms": "cCFIkOqTM", "md": "CIkOqT", "ma": "NJDMOqtcvkC"}
META_MODES = {"ms": "EAPRS", "ma": "ID+-"}
BAD = ["foo", "get", "set a", "incr a", "delete", "touch a", "gat 1", "cas a 1 1 1", "mg", "flush_all x", "verbosity", "mg a M", "ma a MX"]


def meta_flags(choose, verb):
    values = {
        "T": lambda: choose.choice(["0", "100", "30"]),
        "N": lambda: choose.choice(["0", "100", "30"]),
        # A time of 30 or 100 s is never within seconds of these, at which the servers would differ by when they were asked.
        "R": lambda: choose.choice(["0", "20", "60"]),
        "O": lambda: "xyz",
        # No item of either server has one of the large ones. All items that are changed again have more than 1.
        "C": lambda: choose.choice(["99999998", "99999999", "0", "1"]),
        "F": lambda: choose.choice(["0", "1", "4294967295"]),
        "J": lambda: choose.choice(["0", "13"]),
        "D": lambda: choose.choice(["1", "20"]),
        "M": lambda: choose.choice(META_MODES.get(verb, "E")),
    }
    letters = choose.sample(META_LETTERS[verb], choose.randint(0, 5))
    return "".join(f" {letter}{values.get(letter, str)()}" for letter in letters)


def memcached_command(choose):
    """Returns a random command. Its times are within 32 bits, since memcached keeps no more of them."""
    key = choose.choice(["a", "b", "c", "long" * 20])
    time_ = choose.choice(["0", "0", "0", "100", "-1", "2000000000"])
    flags = choose.choice(["0", "1", "4294967295"])
    value = choose.choice(["", "1", "10", "99", "100", "18446744073709551615", "abc", "5 ", "007", "x" * choose.choice([5, 100, 3000])])
    quiet = choose.choice([""] * 6 + [" noreply"])
    verb = choose.choice("get gets gat gats set add replace append prepend cas delete incr decr touch mg ms md ma me flush bad".split())
    keys = " ".join(choose.choice("abcd") for _ in range(choose.randint(1, 5)))
    tail = ""
    if verb in ("get", "gets"):
        line = f"{verb} {keys}"
    elif verb in ("gat", "gats"):
        line = f"{verb} {time_} {keys}"
    elif verb in ("set", "add", "replace", "append", "prepend"):
        line, tail = f"{verb} {key} {flags} {time_} {len(value)}{quiet}", f"{value}\r\n"
    elif verb == "cas":
        line, tail = f"cas {key} {flags} {time_} {len(value)} {choose.choice([99999998, 99999999])}{quiet}", f"{value}\r\n"
    elif verb == "delete":
        line = f"delete {key}{choose.choice(['', ' 0', quiet])}"
    elif verb in ("incr", "decr"):
        line = f"{verb} {key} {choose.choice(['1', '5', '100', '18446744073709551615', '-1', 'x'])}{quiet}"
    elif verb == "touch":
        line = f"touch {key} {time_}{quiet}"
    elif verb == "ms":
        line, tail = f"ms {key} {len(value)}{meta_flags(choose, verb)}", f"{value}\r\n"
    elif verb in ("mg", "md", "ma"):
        line = f"{verb} {key}{meta_flags(choose, verb)}"
    elif verb == "flush":
        line = "flush_all" + choose.choice(["", " 0", " noreply"]) if choose.random() < .1 else "get b"
    else:
        line = choose.choice(BAD)
    return f"{line}\r\n{tail}".encode()


def redis_command(choose):
    """Returns the words of a random command. None makes an item that redis counts no longer and the server still does, or the reverse:
    a time is over at once or in minutes. HELLO says an id, so it has a version that does not exist."""
    def key():
        return choose.choice(["a", "b", "c", "d", "num"])

    def value():
        numbers = ["1", "10", "-5", "9223372036854775807", "-9223372036854775808", " 1", "01", "1.5"]
        return choose.choice(["", "abc", "x" * 50, *numbers])

    verbs = """GET MGET SET SET SET SETNX SETEX PSETEX GETSET GETDEL MSET DEL UNLINK EXISTS INCR DECR INCRBY DECRBY APPEND STRLEN EXPIRE
               PEXPIRE EXPIREAT PEXPIREAT TTL PTTL PERSIST TYPE PEXPIRETIME GETEX GETRANGE DBSIZE PING ECHO SELECT HELLO AUTH FLUSHALL BAD get"""
    verb = choose.choice(verbs.split())
    if choose.random() < .03 and verb != "HELLO":
        return [verb]
    if verb in ("MGET", "DEL", "UNLINK", "EXISTS"):
        return [verb, *(key() for _ in range(choose.randint(1, 5)))]
    if verb == "SET":
        words = ["SET", key(), value()]
        for _ in range(choose.randint(0, 3)):
            option = choose.choice(["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "EXAT", "PXAT", "ex", "bad"])
            times = ["0", "-1", "x", "9223372036854775807"]
            times += ["2000000000000", "3000000000000"] if option == "PXAT" else ["2000000000", "3000000000"]
            words += [option, choose.choice(times)] if option.upper() in ("EX", "PX", "EXAT", "PXAT") else [option]
        return words
    if verb == "GETEX":
        words = [verb, key()]
        for _ in range(choose.choice([0, 1, 1, 2])):
            option = choose.choice(["PERSIST", "EX", "PX", "EXAT", "PXAT", "bad"])
            # A time of 1 from now on would end while the commands run; 1 since 1970 is over.
            times = ["0", "-1", "x", "3000000000000", *(["1"] if option.endswith("AT") else [])]
            words += [option] if option in ("PERSIST", "bad") else [option, choose.choice(times)]
        return words
    if verb == "GETRANGE":
        return [verb, key(), *(choose.choice(["0", "1", "2", "-1", "-2", "-60", "60", "x", "9223372036854775807"]) for _ in range(2))]
    if verb in ("SETNX", "GETSET", "APPEND"):
        return [verb, key(), value()]
    if verb in ("SETEX", "PSETEX"):
        return [verb, key(), choose.choice(["1000000", "0", "-1", "x", "9223372036854775807"]), value()]
    if verb == "MSET":
        pairs = [word for _ in range(choose.randint(1, 3)) for word in (key(), value())]
        return [verb, *pairs, *([key()] if choose.random() < .1 else [])]
    if verb in ("INCRBY", "DECRBY"):
        return [verb, key(), choose.choice(["1", "5", "-3", "9223372036854775807", "x", "1.5"])]
    if verb in ("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"):
        options = [choose.choice(["NX", "XX", "GT", "LT", "bad"]) for _ in range(choose.choice([0, 0, 0, 1, 2]))]
        times = ["1000000", "0", "-1", "x", "9223372036854775807", "4000000000000"]
        if "GT" in options and not verb.endswith("AT"):
            # The same time from now is later than the one before, unless it is the same millisecond, which may be so on one server only.
            times[0] = times[-1] = str(choose.randint(10**6, 10**12))
        return [verb, key(), choose.choice(times), *options]
    others = {"PING": [[], ["hi"], ["a", "b"]], "ECHO": [["x"]], "SELECT": [["0"], ["x"], ["99"]], "HELLO": [["4"], ["x"]], "AUTH": [["x"]],
              "FLUSHALL": [[], ["bad"]], "DBSIZE": [[]], "BAD": [["a", "b"]]}
    if verb == "FLUSHALL" and choose.random() < .9:
        return ["PING"]
    return [verb, *choose.choice(others.get(verb, [[key()]]))]
