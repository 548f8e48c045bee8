"""Packed words and the set of words seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conceptor.kernels import hash_words
from conceptor.vectors import open_vectors, write_vectors
from conceptor.vectors.words import PackedWords, SeenWords, WordIndex


@given(st.lists(st.text(max_size=6)), st.slices(8))
@settings(deadline=None)
def test_packed_words_are_a_sequence_of_strings(words, part):
    packed = PackedWords.from_words(words)
    assert list(packed) == words
    assert [packed[i] for i in range(-len(words), len(words))] == words + words
    assert list(packed[part]) == words[part]
    assert list(packed[part][1:]) == words[part][1:]
    assert list(PackedWords.concatenate([packed, packed[part]])) == words + words[part]
    assert packed.first_not_utf8() == -1
    with pytest.raises(IndexError):
        packed[len(words)]


@given(st.lists(st.binary(max_size=4), min_size=1))
@settings(deadline=None)
def test_the_first_word_that_is_not_utf8(words):
    def decodes(word: bytes) -> bool:
        try:
            word.decode()
        except UnicodeDecodeError:
            return False
        return True

    expected = next((i for i, word in enumerate(words) if not decodes(word)), -1)
    assert PackedWords.from_words(words).first_not_utf8() == expected


@given(st.lists(st.text(alphabet="ab \n\t", max_size=4), min_size=1), st.integers(0, 3))
@settings(deadline=None)
def test_the_first_word_with_a_character(words, skip):
    packed = PackedWords.from_words(words)[skip:]
    expected = next((i for i, word in enumerate(words[skip:]) if set(word) & set(" \n")), -1)
    assert packed.first_with(b" \n") == expected


@given(st.lists(st.lists(st.text(alphabet="abc", max_size=4))))
@settings(deadline=None)
def test_seen_words_are_a_set(batches):
    seen, reference = SeenWords(), set()
    for batch in batches:
        expected = []
        for word in batch:
            expected.append(word not in reference)
            reference.add(word)
        assert seen.add(PackedWords.from_words(batch)).tolist() == expected


def test_a_million_words_are_told_apart_while_the_set_grows():
    seen = SeenWords()
    for start in range(0, 1_000_000, 100_000):
        words = PackedWords.from_words(f"word{i}" for i in range(start, start + 100_000))
        assert seen.add(words).all()
    assert not seen.add(PackedWords.from_words(f"word{i}" for i in range(0, 1_000_000, 997))).any()


def test_words_made_to_collide_are_told_apart(tmp_path):
    """They have the same 64-bit FNV-1a hash, which was trusted once."""
    words = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"]
    assert len({fnv1a(word.encode()) for word in words}) == 1
    write_vectors(tmp_path / "x.bin", [(words, np.eye(2))])
    source = open_vectors(tmp_path / "x.bin")
    assert source.words == words
    assert source.findings.duplicates == 0


def fnv1a(data: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def test_hashes_are_those_of_siphash():
    """The first of the reference implementation's vectors, and every length beside Python code."""
    key = np.frombuffer(bytes(range(16)), dtype=np.uint64)
    words = PackedWords.from_words(bytes(i % 256 for i in range(size)) for size in range(300))
    hashes, more = np.empty(300, dtype=np.uint64), np.empty(300, dtype=np.uint32)
    hash_words(words.blob, words.offsets, key, hashes, more)
    found = [a.tobytes() + b.tobytes() for a, b in zip(hashes, more, strict=True)]
    assert found[0].hex() == "a3817f04ba25a8e66df67214"
    assert found == [siphash128(bytes(range(16)), words.raw(i))[:12] for i in range(300)]
    assert siphash128(bytes(range(16)), b"").hex() == "a3817f04ba25a8e66df67214c7550293"


def siphash128(key: bytes, data: bytes) -> bytes:
    """SipHash-2-4-128 as its authors' program has it."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) % 2**64

    def rounds(count):
        for _ in range(count):
            for a, b, c, d, left, right in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a] = (v[a] + v[b]) % 2**64
                v[b] = rotate(v[b], left) ^ v[a]
                v[a] = rotate(v[a], 32)
                v[c] = (v[c] + v[d]) % 2**64
                v[d] = rotate(v[d], right) ^ v[c]

    data += bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    for i in range(0, len(data), 8):
        block = int.from_bytes(data[i : i + 8], "little")
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xEE
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return b"".join(x.to_bytes(8, "little") for x in (first, v[0] ^ v[1] ^ v[2] ^ v[3]))


@given(st.lists(st.text(min_size=0, max_size=3)), st.lists(st.text(max_size=3), unique=True))
def test_an_index_finds_exactly_its_words(words, known):
    rows, numbers = WordIndex(known).find(PackedWords.from_words(words))
    expected = [(row, known.index(word)) for row, word in enumerate(words) if word in known]
    assert list(zip(rows.tolist(), numbers.tolist(), strict=True)) == expected


def test_an_index_of_many_words_finds_them_in_a_part():
    words = [f"w{i}" for i in range(20_000)]
    rows, numbers = WordIndex(words[::7]).find(PackedWords.from_words(words)[5_000:])
    assert (rows + 5_000 == 7 * numbers).all()
    assert len(rows) == sum(i % 7 == 0 for i in range(5_000, 20_000))


@pytest.mark.parametrize("expected", [0, 3, 10_000, 1 << 60])
def test_what_a_header_claims_does_not_change_which_words_are_new(expected):
    seen = SeenWords(expected)
    words = [f"w{i % 7_000}" for i in range(10_000)]
    assert seen.add(PackedWords.from_words(words)).tolist() == [i < 7_000 for i in range(10_000)]
    assert not seen.add(PackedWords.from_words(words[:10])).any()
