"""The compiled loops."""

from __future__ import annotations

from conceptor.kernels.build import Kernel

_WORDS = "conceptor.kernels.words"
_PARSE = "conceptor.kernels.parse"
_FORMAT = "conceptor.kernels.format"
_CORPUS = "conceptor.kernels.corpus"
_FASTTEXT = "conceptor.kernels.fasttext"
_SPELLING = "conceptor.kernels.spelling"
_TRACKER = "conceptor.kernels.tracker"
_SEARCH = "conceptor.kernels.search"

hash_words = Kernel(
    _WORDS, "hash_words", "void(uint8[:], int64[:], uint64[:], uint64[:], uint32[:])"
)
insert_hashes = Kernel(
    _WORDS, "insert_hashes", "int64(uint64[:], uint32[:], uint64[:], uint32[:], bool[:])"
)
gather_words = Kernel(
    _WORDS, "gather_words", "void(uint8[:], int64[:], int64[:], uint8[:], int64[:])"
)
first_beyond = Kernel(_WORDS, "first_beyond", "int64(float32[:,:], float32)")
scan_binary = Kernel(
    _WORDS, "scan_binary", "void(uint8[:], uint8[:,:], int64[:], int64[:], int64[:])"
)
join_binary = Kernel(_WORDS, "join_binary", "void(uint8[:], int64[:], uint8[:,:], uint8[:])")
format_rows = Kernel(
    _FORMAT, "format_rows", "int64(uint8*, int64[:], float32[:,:], int32[:,:], uint8*)"
)
parse_rows = Kernel(
    _PARSE,
    "parse_rows",
    "void(uint8*, int64, int64, float32[:,:], int64[:], int64[:], int64[:], int64[:,:], "
    "int64[:,:], int64[:])",
)
find_tokens = Kernel(
    _CORPUS, "find_tokens", "int64(uint8[:], bool[:], int64, bool[:], int32[:], int32[:])"
)
number_tokens = Kernel(
    _CORPUS,
    "number_tokens",
    "int64(uint8[:], int32[:], int32[:], int32[:], uint64[:], uint8[:], int64[:], int64[:], int64, "
    "int32[:])",
)
fill_table = Kernel(_CORPUS, "fill_table", "void(int32[:], uint64[:])")
count_pairs = Kernel(
    _CORPUS,
    "count_pairs",
    "void(int32[:], int64, int64[:], int64, int64, int64, uint64[:,:], int64, int64[:])",
)
move_pairs = Kernel(_CORPUS, "move_pairs", "void(uint64[:,:], uint64[:,:])")
scan_dictionary = Kernel(_FASTTEXT, "scan_dictionary", "int64(uint8[:], int64, int64[:], int64[:])")
add_ngrams = Kernel(
    _FASTTEXT,
    "add_ngrams",
    "void(uint8[:], int64[:], float32[:,:], int64, int64, float32[:,:])",
)
hash_ngrams = Kernel(
    _SPELLING,
    "hash_ngrams",
    "int64(uint8[:], int64[:], int64, int64, int64, int32[:], int32[:])",
)
add_rows = Kernel(
    _SPELLING, "add_rows", "void(int32[:], int32[:], float32[:], float32[:,:], float32[:,:])"
)
spread_weights = Kernel(
    _TRACKER,
    "spread_weights",
    "void(int64[:,:], float32[:,:], float32[:], float32[:,:], float32[:,:,:])",
)
derive_hidden = Kernel(
    _TRACKER,
    "derive_hidden",
    "void(float32[:,:,:], float32[:,:], float32[:,:], float32[:,:,:], float32[:,:])",
)
gather_spread = Kernel(
    _TRACKER,
    "gather_spread",
    "void(int64[:,:], float32[:,:], float32[:,:], float32[:,:,:], float32[:,:], float32[:,:], "
    "float32[:])",
)
max_windows = Kernel(
    _TRACKER,
    "max_windows",
    "void(int64[:,:], int64[:], float32[:,:,:], float32[:], float32[:,:], int32[:,:])",
)
derive_windows = Kernel(
    _TRACKER,
    "derive_windows",
    "void(int64[:,:], int64[:], int32[:,:], float32[:,:], float32[:,:,:])",
)
find_beaten = Kernel(
    _SEARCH, "find_beaten", "void(float32[:,:], int64[:,:], float32[:], int64[:,:], bool[:])"
)
