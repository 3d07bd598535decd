// The judge's own kernels: they make the inputs of a launch on the device and check its results there.
//
// A recipe gives every element by a hash of its row and column, bit for bit as in recipes.py. So these kernels read no
// memory that a judged kernel could have changed, except for the compared values. All arithmetic is exact.
//
// Kernels whose names end with `_typed` are for products of other types than float. The others know their type.
//
// Every kernel sees a matrix as lines: `row` counts the lines in memory order, `column` the elements of a line. For a
// matrix in column-major order, the host swaps rows and columns of the recipe.
//
// All integer arguments have 64 bits, so that the host passes them in one way.

typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

constexpr u32 THREADS = 256, STRIP = 1024;
constexpr u32 WHOLE_WARP = 0xFFFFFFFF;

enum Kind { WIDE, NARROW, MANTISSAS, SELECTION, WHOLE };

// The types of elements. If elements are compared bit for bit, their number of bytes replaces the type.
enum Type { HALF = 16, BFLOAT, E4M3, E5M2, FLOAT, DOUBLE, CHAR, BYTE, INT };

constexpr u32 SPECIAL_EVERY = 16;
constexpr double LARGEST_DOUBLE = 1.7976931348623157e308;

// Integers that wrap at 2^64.
struct Wrapping {
    static __device__ __forceinline__ u64 factor(u64 drawn) { return drawn; }
    static __device__ __forceinline__ u64 plus(u64 left, u64 right) { return left + right; }
    static __device__ __forceinline__ u64 times(long long value, u64 factor) { return (u64)value * factor; }
};

// Integers modulo a prime, all below it. Values are less than half of it in size.
struct Modular {
    static constexpr u64 PRIME = (1ull << 61) - 1;

    static __device__ __forceinline__ u64 factor(u64 drawn) { return drawn >> 3; }

    static __device__ __forceinline__ u64 plus(u64 left, u64 right) {
        u64 sum = left + right;
        return sum >= PRIME ? sum - PRIME : sum;
    }

    // 2^61 is 1, so the upper bits of the product are added to the lower 61.
    static __device__ __forceinline__ u64 times(long long value, u64 factor) {
        u64 left = value < 0 ? (u64)value + PRIME : (u64)value, low = left * factor;
        return plus(low & PRIME, __umul64hi(left, factor) << 3 | low >> 61);
    }
};

// rowStep, columnStep: difference of the mixed numbers of neighbouring elements
// along: whether the lines of dot products are the rows
// length: number of elements in such a line
// number: for NARROW, one in this many neighbours is nonzero; for WHOLE, the largest element
// start, step: for SELECTION, the place of each line's element; otherwise, the first special term and number
// wide, more: the largest element of the kind WIDE has `more` further bits; all of them are 1
// digits: of the type in binary
// ones: the largest element of the kind NARROW, which is 1 for floats
// signs: 1 if elements may be negative, otherwise 0
// lowest: the exponent of the smallest element of the kind SELECTION
//
// A block handles HEIGHT rows. Values that depend only on the column are computed once for all rows. The loads of the
// rows overlap, so no loop over columns needs to be unrolled. A block that needn't see whole rows handles WIDTH columns.
struct Recipe {
    typedef int Integer;
    typedef u32 Bits;
    typedef float Number;
    typedef Wrapping Ring;
    static constexpr u32 HEIGHT = 4, WIDTH = STRIP;
    static constexpr float LARGEST = 0x1p27f;  // the bound of all correct outputs
    static constexpr u32 wide = 8191, more = 0, digits = 24;
    static constexpr u64 signs = 1;

    u64 seed, rowStep, columnStep;
    bool along;
    u32 length, number;
    u64 start, step;
};

// For a type that is only known at the launch. The code for one element is long, so it isn't repeated for more rows.
struct TypedRecipe : Recipe {
    typedef long long Integer;
    typedef u64 Bits;
    typedef double Number;
    typedef Modular Ring;
    static constexpr u32 HEIGHT = 1, WIDTH = THREADS;
    static constexpr double LARGEST = 0x1p57;
    u32 type, wide, more, digits, ones;
    u64 signs;
    int lowest;
};

#define RECIPE(name)                                                                                               \
    u64 name##Kind, u64 name##Seed, u64 name##RowStep, u64 name##ColumnStep, u64 name##Along, u64 name##Length,    \
        u64 name##Number, u64 name##Start, u64 name##Step
#define MADE(name)                                                                                                 \
    Recipe { name##Seed, name##RowStep, name##ColumnStep, name##Along != 0, (u32)name##Length, (u32)name##Number,  \
             name##Start, name##Step }
#define TYPED_RECIPE(name)                                                                                         \
    RECIPE(name), u64 name##Type, u64 name##Wide, u64 name##More, u64 name##Digits, u64 name##Ones
#define MADE_TYPED(name)                                                                                           \
    TypedRecipe { MADE(name), (u32)name##Type, (u32)name##Wide, (u32)name##More, (u32)name##Digits,                \
                  (u32)name##Ones, name##Type != BYTE, name##Type < CHAR ? -4 : 0 }

// The finalizer of SplitMix64.
__device__ __forceinline__ u64 mix(u64 number) {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ull;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBull;
    return number ^ (number >> 31);
}

__device__ __forceinline__ u64 drawn(const Recipe &recipe, u32 row, u32 column) {
    return mix(recipe.seed + row * recipe.rowStep + column * recipe.columnStep);
}

// A number from 0 to below the limit, from the upper half of a drawn number. The lowest bit is for the sign.
__device__ __forceinline__ u32 below(u64 number, u32 limit) { return __umulhi((u32)(number >> 32), limit); }

template <typename R>
__device__ __forceinline__ typename R::Integer withSign(const R &recipe, u64 number, typename R::Integer magnitude) {
    return number & recipe.signs ? -magnitude : magnitude;
}

// Any integer but 0 up to the largest one.
template <typename R> __device__ __forceinline__ typename R::Integer upToWide(const R &recipe, u64 number) {
    typename R::Bits upper = below(number, recipe.wide), further = number >> 1 & ((1ull << recipe.more) - 1);
    return withSign(recipe, number, 1 + (upper << recipe.more | further));
}

// An odd integer with all digits.
template <typename R> __device__ __forceinline__ typename R::Integer mantissa(const R &recipe, u64 number) {
    u32 inner = recipe.digits - 2;
    typename R::Bits one = 1, bits = number >> (inner > 32 ? 64 - inner : 32);
    return withSign(recipe, number, (one << (inner + 1)) + 1 + 2 * (bits & ((one << inner) - 1)));
}

__device__ __forceinline__ bool special(const Recipe &recipe, u32 row, u32 column) {
    return (recipe.along ? column : row) % SPECIAL_EVERY == (u32)recipe.start;
}

// 1 or -1; for types of whole numbers, any of these but 0.
__device__ __forceinline__ int one(const Recipe &recipe, u64 number) { return withSign(recipe, number, 1); }

__device__ __forceinline__ long long one(const TypedRecipe &recipe, u64 number) {
    return withSign(recipe, number, 1 + below(number << 32, recipe.ones));
}

// One drawn number decides which element of a group is nonzero, and its value. A group usually has one element.
template <typename R> __device__ __forceinline__ typename R::Integer ones(const R &recipe, u32 row, u32 column) {
    if (recipe.number == 1) return one(recipe, drawn(recipe, row, column));
    u32 index = recipe.along ? column : row;
    u32 group = index / recipe.number, first = group * recipe.number;
    u64 number = recipe.along ? drawn(recipe, row, group) : drawn(recipe, group, column);
    u32 size = min(recipe.number, recipe.length - first);
    return index - first == below(number, size) ? one(recipe, number) : 0;
}

// One drawn number decides whether a line is special, and its only element.
template <typename R> __device__ __forceinline__ typename R::Integer narrow(const R &recipe, u32 row, u32 column) {
    u32 line = recipe.along ? row : column, term = recipe.along ? column : row;
    u64 number = mix(~recipe.seed + line * (recipe.along ? recipe.rowStep : recipe.columnStep));
    if ((number >> 1 & 15) == 0) {
        u32 place = (u32)recipe.start + SPECIAL_EVERY * below(number, (u32)recipe.step);
        return term == place ? withSign(recipe, number, 1 << (number >> 5 & 3)) : 0;
    }
    return special(recipe, row, column) ? 0 : ones(recipe, row, column);
}

// The kind is a template parameter, so that loops over elements have no branch on it.
template <int KIND, typename R>
__device__ __forceinline__ typename R::Integer integer(const R &recipe, u32 row, u32 column) {
    if (KIND == NARROW) return narrow(recipe, row, column);
    u64 number = drawn(recipe, row, column);
    if (KIND == MANTISSAS || (KIND == WIDE && special(recipe, row, column))) return mantissa(recipe, number);
    if (KIND == WIDE) return upToWide(recipe, number);
    return 1 + below(number, recipe.number);
}

// The place of a line's only element. A step is a whole number of places, as a fraction of the line in 64 bits. So the
// wrapping product gives the remainder without a division.
__device__ __forceinline__ u32 place(const Recipe &recipe, u32 line) {
    return __umulhi((u32)((recipe.start + line * recipe.step) >> 32), recipe.length);
}

__device__ __forceinline__ u64 drawnForLine(const Recipe &recipe, u32 line) {
    return mix(recipe.seed + line * (recipe.along ? recipe.rowStep : recipe.columnStep));
}

// That element: a signed power of two, from 2^-4 to 2^4.
__device__ __forceinline__ float scale(const Recipe &recipe, u32 line) {
    u64 number = drawnForLine(recipe, line);
    return __uint_as_float((127 - 4 + below(number, 9)) << 23 | (u32)(number & 1) << 31);
}

__device__ __forceinline__ double scale(const TypedRecipe &recipe, u32 line) {
    u64 number = drawnForLine(recipe, line);
    u64 exponent = 1023 + recipe.lowest + below(number, 5 - recipe.lowest);
    return __longlong_as_double(exponent << 52 | (number & recipe.signs) << 63);
}

template <int KIND, typename R>
__device__ __forceinline__ typename R::Number element(const R &recipe, u32 row, u32 column) {
    if (KIND != SELECTION) return (typename R::Number)integer<KIND>(recipe, row, column);
    u32 line = recipe.along ? row : column, index = recipe.along ? column : row;
    return index == place(recipe, line) ? scale(recipe, line) : 0;
}

__device__ __forceinline__ u32 bytesOf(u32 type) {
    switch (type) {
        case DOUBLE: return 8;
        case FLOAT: case INT: return 4;
        case HALF: case BFLOAT: return 2;
        default: return 1;
    }
}

__device__ __forceinline__ u64 load(const void *from, u64 at, u32 type) {
    switch (bytesOf(type)) {
        case 1: return ((const unsigned char *)from)[at];
        case 2: return ((const unsigned short *)from)[at];
        case 4: return ((const u32 *)from)[at];
        default: return ((const u64 *)from)[at];
    }
}

__device__ __forceinline__ void store(void *to, u64 at, u32 type, u64 bits) {
    switch (bytesOf(type)) {
        case 1: ((unsigned char *)to)[at] = (unsigned char)bits; break;
        case 2: ((unsigned short *)to)[at] = (unsigned short)bits; break;
        case 4: ((u32 *)to)[at] = (u32)bits; break;
        default: ((u64 *)to)[at] = bits;
    }
}

__device__ __forceinline__ unsigned short toHalf(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ float fromHalf(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ float fromBfloat(unsigned short bits) { return __uint_as_float((u32)bits << 16); }

// A float's fields, whose exponent is larger by 120, are at the same places.
__device__ __forceinline__ unsigned char toE4m3(float value) {
    u32 bits = __float_as_uint(value);
    return value == 0 ? 0 : bits >> 24 & 0x80 | ((bits >> 20 & 0x7FF) - (120 << 3));
}

// The format has no infinity.
__device__ __forceinline__ float fromE4m3(unsigned char bits) {
    float value = __uint_as_float((u32)(bits & 0x7F) << 20) * 0x1p120f;
    return (bits & 0x7F) == 0x7F ? __uint_as_float(0x7FFFFFFF) : bits & 0x80 ? -value : value;
}

__device__ __forceinline__ float fromE5m2(unsigned char bits) { return fromHalf((unsigned short)(bits << 8)); }

// The bits of an element of a factor, which its type holds exactly.
__device__ __forceinline__ u64 encoded(double value, u32 type) {
    switch (type) {
        case DOUBLE: return __double_as_longlong(value);
        case HALF: return toHalf((float)value);
        case BFLOAT: return __float_as_uint((float)value) >> 16;
        case E4M3: return toE4m3((float)value);
        case E5M2: return toHalf((float)value) >> 8;
        default: return (unsigned char)(int)value;
    }
}

// The element of a product with these bits.
__device__ __forceinline__ double decoded(u64 bits, u32 type) {
    switch (type) {
        case DOUBLE: return __longlong_as_double(bits);
        case FLOAT: return __uint_as_float((u32)bits);
        case HALF: return fromHalf((unsigned short)bits);
        default: return (int)bits;
    }
}

template <int KIND> struct Known {
    static constexpr int value = KIND;
};

template <typename Body> __device__ __forceinline__ void forKind(u64 kind, Body body) {
    switch (kind) {
        case WIDE: return body(Known<WIDE>());
        case NARROW: return body(Known<NARROW>());
        case MANTISSAS: return body(Known<MANTISSAS>());
        case SELECTION: return body(Known<SELECTION>());
        default: return body(Known<WHOLE>());
    }
}

// Every element of this block's rows in its strip. Neighbouring threads have neighbouring columns.
template <typename R, typename Body> __device__ __forceinline__ void forTile(u32 rows, u32 columns, Body body) {
    u32 top = blockIdx.x * R::HEIGHT, left = blockIdx.y * R::WIDTH + threadIdx.x;
#pragma unroll 1
    for (u32 step = 0; step < R::WIDTH; step += THREADS) {
        u32 column = left + step;
        if (column >= columns) return;
#pragma unroll
        for (u32 row = top; row < top + R::HEIGHT; row++)
            if (row < rows) body(row, column, (u64)row * columns + column);
    }
}

// The number of differences and the first one. It is stored as the largest complement, so that zeros mean "none".
struct Tally {
    u32 count = 0;
    u64 first = 0;

    __device__ __forceinline__ void add(u64 at) {
        count++;
        first = max(first, ~at);
    }

    // One update of memory per warp, and none without a difference, because all warps update the same place.
    __device__ __forceinline__ void report(u64 *counter) {
        if (!__any_sync(WHOLE_WARP, count != 0)) return;
        for (int distance = 16; distance > 0; distance /= 2) {
            count += __shfl_down_sync(WHOLE_WARP, count, distance);
            first = max(first, __shfl_down_sync(WHOLE_WARP, first, distance));
        }
        if (threadIdx.x % 32 == 0) {
            atomicAdd(counter, (u64)count);
            atomicMax(counter + 1, first);
        }
    }
};

// The sums over all threads of the block, for thread 0 only.
template <typename Ring, u32 COUNT> __device__ __forceinline__ void addUp(u64 (&sums)[COUNT]) {
    __shared__ u64 ofWarp[THREADS / 32][COUNT];
#pragma unroll
    for (u32 i = 0; i < COUNT; i++)
        for (int distance = 16; distance > 0; distance /= 2)
            sums[i] = Ring::plus(sums[i], __shfl_down_sync(WHOLE_WARP, sums[i], distance));
    if (threadIdx.x % 32 == 0)
        for (u32 i = 0; i < COUNT; i++) ofWarp[threadIdx.x / 32][i] = sums[i];
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (u32 warp = 1; warp < THREADS / 32; warp++)
        for (u32 i = 0; i < COUNT; i++) sums[i] = Ring::plus(sums[i], ofWarp[warp][i]);
}

// This block's rows of a matrix times a vector.
template <typename R, typename Vector>
__device__ __forceinline__ void multiply(u64 *out, u32 rows, u32 columns, u64 kind, const R &recipe, Vector vector) {
    typedef typename R::Ring Ring;
    u32 top = blockIdx.x * R::HEIGHT;
    u64 sums[R::HEIGHT] = {};
    auto run = [&](auto known) {
#pragma unroll 1
        for (u32 column = threadIdx.x; column < columns; column += THREADS) {
            u64 factor = vector(column);
#pragma unroll
            for (u32 i = 0; i < R::HEIGHT; i++) {
                long long value = integer<decltype(known)::value>(recipe, top + i, column);
                sums[i] = Ring::plus(sums[i], Ring::times(value, factor));
            }
        }
    };
    // Products of other kinds are compared element by element.
    if (kind == WIDE)
        run(Known<WIDE>());
    else
        run(Known<NARROW>());
    addUp<Ring>(sums);
    if (threadIdx.x != 0) return;
    for (u32 i = 0; i < R::HEIGHT && top + i < rows; i++) out[top + i] = sums[i];
}

// The vector for checking a product.
template <typename Ring> __device__ __forceinline__ u64 random(u64 seed, u32 index) {
    return Ring::factor(mix(seed + (index + 1) * 0xD6E8FEB86659FD93ull));
}

// Compares each row of a product times the vector. An element that isn't an integer, or too large for an exact number,
// makes its row incorrect. All others are integers, so the sums are comparable. -0 becomes 0. `read` gives an element.
template <typename R, typename Read>
__device__ __forceinline__ void compareRows(const u64 *expected, u64 *counter, u64 vector, u64 rows, u64 columns,
                                            Read read) {
    typedef typename R::Ring Ring;
    u32 top = blockIdx.x * R::HEIGHT;
    u64 sums[R::HEIGHT] = {};
    u32 bad = 0;  // one bit for each row
#pragma unroll 1
    for (u32 column = threadIdx.x; column < columns; column += THREADS) {
        u64 factor = random<Ring>(vector, column);
#pragma unroll
        for (u32 i = 0; i < R::HEIGHT; i++) {
            if (top + i >= rows) break;
            typename R::Number value = read((top + i) * columns + column);
            // The first comparison is false for a NaN. Such an integer stays unchanged by the two conversions.
            bool good = fabs(value) <= R::LARGEST && (typename R::Number)(typename R::Integer)value == value;
            sums[i] = Ring::plus(sums[i], Ring::times(good ? (typename R::Integer)value : 0, factor));
            bad |= (u32)!good << i;
        }
    }
    addUp<Ring>(sums);
    // This is rare, so it may be slow.
    u32 badRows = 0;
    if (__syncthreads_or(bad != 0))
        for (u32 i = 0; i < R::HEIGHT; i++) badRows |= (u32)(__syncthreads_or(bad >> i & 1) != 0) << i;
    if (threadIdx.x != 0) return;
    for (u32 i = 0; i < R::HEIGHT && top + i < rows; i++) {
        if (sums[i] == expected[top + i] && !(badRows >> i & 1)) continue;
        atomicAdd(counter, 1ull);
        atomicMax(counter + 1, ~(u64)(top + i));
    }
}

// Compares a product whose elements are scaled elements of the dense factor. It is exact, and its last bits differ if
// either factor was rounded. `chosen` is the left factor if its lines are rows. `read` gives an element as a number.
template <typename R, typename Read>
__device__ __forceinline__ void compareChosen(u64 *counter, u64 rows, u64 columns, const R &chosen, const R &dense,
                                              Read read) {
    Tally tally;
    forTile<R>(rows, columns, [&](u32 row, u32 column, u64 at) {
        u32 line = chosen.along ? row : column;
        u32 from = place(chosen, line);
        auto value = chosen.along ? integer<MANTISSAS>(dense, from, column) : integer<MANTISSAS>(dense, row, from);
        // In this form, a NaN differs.
        if (!(read(at) == (typename R::Number)value * scale(chosen, line))) tally.add(at);
    });
    tally.report(counter);
}

}  // namespace

extern "C" __global__ void make_matrix(float *out, u64 rows, u64 columns, RECIPE(matrix)) {
    Recipe recipe = MADE(matrix);
    forKind(matrixKind, [&](auto known) {
        forTile<Recipe>(rows, columns, [&](u32 row, u32 column, u64 at) {
            out[at] = element<decltype(known)::value>(recipe, row, column);
        });
    });
}

extern "C" __global__ void make_matrix_typed(void *out, u64 rows, u64 columns, TYPED_RECIPE(matrix)) {
    TypedRecipe recipe = MADE_TYPED(matrix);
    forKind(matrixKind, [&](auto known) {
        forTile<TypedRecipe>(rows, columns, [&](u32 row, u32 column, u64 at) {
            double value = element<decltype(known)::value>(recipe, row, column);
            store(out, at, recipe.type, encoded(value, recipe.type));
        });
    });
}

// Compares bit for bit: an input with -0 instead of 0 was overwritten.
extern "C" __global__ void compare_matrix(const u32 *found, u64 *counter, u64 rows, u64 columns, RECIPE(matrix)) {
    Recipe recipe = MADE(matrix);
    Tally tally;
    forKind(matrixKind, [&](auto known) {
        forTile<Recipe>(rows, columns, [&](u32 row, u32 column, u64 at) {
            if (found[at] != __float_as_uint(element<decltype(known)::value>(recipe, row, column))) tally.add(at);
        });
    });
    tally.report(counter);
}

extern "C" __global__ void compare_matrix_typed(const void *found, u64 *counter, u64 rows, u64 columns,
                                                TYPED_RECIPE(matrix)) {
    TypedRecipe recipe = MADE_TYPED(matrix);
    Tally tally;
    forKind(matrixKind, [&](auto known) {
        forTile<TypedRecipe>(rows, columns, [&](u32 row, u32 column, u64 at) {
            double value = element<decltype(known)::value>(recipe, row, column);
            if (load(found, at, recipe.type) != encoded(value, recipe.type)) tally.add(at);
        });
    });
    tally.report(counter);
}

// Compares two zones of memory at once, each with its own counter.
extern "C" __global__ void compare_words(const u32 *before, const u32 *behind, u64 *counters, u64 words, u64 word) {
    const u32 *found = blockIdx.y == 0 ? before : behind;
    Tally tally;
    u64 end = min(words, (u64)(blockIdx.x + 1) * STRIP);
#pragma unroll 4
    for (u64 at = (u64)blockIdx.x * STRIP + threadIdx.x; at < end; at += THREADS)
        if (found[at] != (u32)word) tally.add(at);
    tally.report(counters + 2 * blockIdx.y);
}

extern "C" __global__ void compare_selection(const float *found, u64 *counter, u64 rows, u64 columns, RECIPE(chosen),
                                             RECIPE(dense)) {
    compareChosen(counter, rows, columns, MADE(chosen), MADE(dense), [=](u64 at) { return found[at]; });
}

extern "C" __global__ void compare_selection_typed(const void *found, u64 *counter, u64 rows, u64 columns, u64 type,
                                                   TYPED_RECIPE(chosen), TYPED_RECIPE(dense)) {
    auto read = [=](u64 at) { return decoded(load(found, at, type), type); };
    compareChosen(counter, rows, columns, MADE_TYPED(chosen), MADE_TYPED(dense), read);
}

// One block for each section of the input, whose elements are numbered row by row. `turned`: the output is in
// column-major order.
extern "C" __global__ void compare_sums(const float *found, u64 *counter, u64 section, u64 outRows, u64 outColumns,
                                        u64 turned, u64 rows, u64 columns, RECIPE(matrix)) {
    Recipe recipe = MADE(matrix);
    u64 sum[1] = {};
    u64 first = blockIdx.x * section, end = min(first + section, rows * columns);
#pragma unroll 4
    for (u64 at = first + threadIdx.x; at < end; at += THREADS) {
        u32 row = (u32)at / (u32)columns;
        sum[0] += integer<WHOLE>(recipe, row, (u32)at - row * (u32)columns);
    }
    addUp<Wrapping>(sum);
    if (threadIdx.x != 0) return;
    u64 row = blockIdx.x / (u32)outColumns, column = blockIdx.x - row * outColumns;
    if (found[turned ? column * outRows + row : blockIdx.x] == (float)sum[0]) return;
    atomicAdd(counter, 1ull);
    atomicMax(counter + 1, ~(u64)blockIdx.x);
}

// Freivalds' check of C = A B. It computes z = B r and w = A z, and compares C r with w. Differences of integers are at
// most 2^28. So for an incorrect row, C r = w holds for one in 2^36 vectors r at most. For other types than float,
// differences can have more factors of 2. So a prime replaces 2^64, and C r = w holds for one in 2^60 at most.
extern "C" __global__ void multiply_random(u64 *out, u64 vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix),
             [=](u32 index) { return random<Wrapping>(vector, index); });
}

extern "C" __global__ void multiply_random_typed(u64 *out, u64 vector, u64 rows, u64 columns, TYPED_RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE_TYPED(matrix),
             [=](u32 index) { return random<Modular>(vector, index); });
}

extern "C" __global__ void multiply_vector(u64 *out, const u64 *vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix), [=](u32 index) { return vector[index]; });
}

extern "C" __global__ void multiply_vector_typed(u64 *out, const u64 *vector, u64 rows, u64 columns,
                                                 TYPED_RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE_TYPED(matrix), [=](u32 index) { return vector[index]; });
}

extern "C" __global__ void compare_product(const float *found, const u64 *expected, u64 *counter, u64 vector, u64 rows,
                                           u64 columns) {
    compareRows<Recipe>(expected, counter, vector, rows, columns, [=](u64 at) { return found[at]; });
}

extern "C" __global__ void compare_product_typed(const void *found, const u64 *expected, u64 *counter, u64 vector,
                                                 u64 rows, u64 columns, u64 type) {
    auto read = [=](u64 at) { return decoded(load(found, at, type), type); };
    compareRows<TypedRecipe>(expected, counter, vector, rows, columns, read);
}

// Compares elements with others, bit for bit or as floats. Those may differ by the tolerance. -0 equals 0. Neither NaN
// nor infinity passes.
extern "C" __global__ void compare_memory(const void *found, const void *expected, u64 *counter, u64 elements, u64 how,
                                          float absolute, float relative) {
    Tally tally;
    u64 end = min(elements, (u64)(blockIdx.x + 1) * STRIP);
    // `kind` is a null pointer to the elements' type.
    auto compare = [&](auto kind, auto differs) {
        auto left = (decltype(kind))found, right = (decltype(kind))expected;
#pragma unroll 4
        for (u64 at = (u64)blockIdx.x * STRIP + threadIdx.x; at < end; at += THREADS)
            if (differs(left[at], right[at])) tally.add(at);
    };
    auto otherBits = [](auto value, auto right) { return value != right; };
    auto far = [=](double value, double right) {
        // In this form, a NaN differs. So does a difference that isn't finite.
        return !(fabs(value - right) <= absolute + (double)relative * fabs(right) && fabs(value) <= LARGEST_DOUBLE);
    };
    auto farAs = [=](auto number) { return [=](auto value, auto right) { return far(number(value), number(right)); }; };
    switch (how) {
        case 1: compare((const unsigned char *)0, otherBits); break;
        case 2: compare((const unsigned short *)0, otherBits); break;
        case 4: compare((const u32 *)0, otherBits); break;
        case 8: compare((const u64 *)0, otherBits); break;
        case HALF: compare((const unsigned short *)0, farAs(fromHalf)); break;
        case BFLOAT: compare((const unsigned short *)0, farAs(fromBfloat)); break;
        case E4M3: compare((const unsigned char *)0, farAs(fromE4m3)); break;
        case E5M2: compare((const unsigned char *)0, farAs(fromE5m2)); break;
        case FLOAT: compare((const float *)0, far); break;
        default: compare((const double *)0, far);
    }
    tally.report(counter);
}
