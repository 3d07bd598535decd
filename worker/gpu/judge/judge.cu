// The judge's own kernels: they make the inputs of a launch on the device and check its results there.
//
// A recipe gives every element by a hash of its row and column, bit for bit as in recipes.py. So these kernels read no
// memory that a judged kernel could have changed, except for the compared values. All arithmetic is exact.
//
// Every kernel sees a matrix as lines: `row` counts the lines in memory order, `column` the elements of a line. For a
// matrix in column-major order, the host swaps rows and columns of the recipe.
//
// All integer arguments have 64 bits, so that the host passes them in one way.

typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

// A block has THREADS threads and handles ROWS rows. Values that depend only on the column are computed once for all
// rows. The loads of the rows overlap, so no loop over columns needs to be unrolled. If a block needn't see whole rows,
// it handles a strip of columns.
constexpr u32 THREADS = 256, ROWS = 4, STRIP = 1024;
constexpr u32 WHOLE_WARP = 0xFFFFFFFF;

enum Kind { WIDE, NARROW, MANTISSAS, SELECTION, WHOLE };

// How elements are compared: as numbers of one of these types, or bit for bit if it is their number of bytes.
enum Float { HALF = 16, BFLOAT, E4M3, E5M2, FLOAT, DOUBLE };

constexpr u32 WIDE_LIMIT = 8191;
constexpr u32 SPECIAL_EVERY = 16;
constexpr double LARGEST_DOUBLE = 1.7976931348623157e308;
constexpr float LARGEST = 134217728.0f;  // 2^27: the bound of all correct outputs

// rowStep, columnStep: difference of the mixed numbers of neighbouring elements
// along: whether the lines of dot products are the rows
// length: number of elements in such a line
// number: for NARROW, one in this many neighbours is nonzero; for WHOLE, the largest element
// start, step: for SELECTION, the place of each line's element; otherwise, the first special term and number
struct Recipe {
    u64 seed, rowStep, columnStep;
    bool along;
    u32 length, number;
    u64 start, step;
};

#define RECIPE(name)                                                                                               \
    u64 name##Kind, u64 name##Seed, u64 name##RowStep, u64 name##ColumnStep, u64 name##Along, u64 name##Length,    \
        u64 name##Number, u64 name##Start, u64 name##Step
#define MADE(name)                                                                                                 \
    Recipe { name##Seed, name##RowStep, name##ColumnStep, name##Along != 0, (u32)name##Length, (u32)name##Number,  \
             name##Start, name##Step }

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

__device__ __forceinline__ int withSign(u64 number, int magnitude) { return number & 1 ? -magnitude : magnitude; }

__device__ __forceinline__ int mantissa(u64 number) {
    return withSign(number, (1 << 23) + 1 + 2 * ((u32)(number >> 32) & ((1 << 22) - 1)));
}

__device__ __forceinline__ bool special(const Recipe &recipe, u32 row, u32 column) {
    return (recipe.along ? column : row) % SPECIAL_EVERY == (u32)recipe.start;
}

// One drawn number decides which element of a group is nonzero, and its sign. A group usually has one element.
__device__ __forceinline__ int ones(const Recipe &recipe, u32 row, u32 column) {
    if (recipe.number == 1) return withSign(drawn(recipe, row, column), 1);
    u32 index = recipe.along ? column : row;
    u32 group = index / recipe.number, first = group * recipe.number;
    u64 number = recipe.along ? drawn(recipe, row, group) : drawn(recipe, group, column);
    u32 size = min(recipe.number, recipe.length - first);
    return index - first == below(number, size) ? withSign(number, 1) : 0;
}

// One drawn number decides whether a line is special, and its only element.
__device__ __forceinline__ int narrow(const Recipe &recipe, u32 row, u32 column) {
    u32 line = recipe.along ? row : column, term = recipe.along ? column : row;
    u64 number = mix(~recipe.seed + line * (recipe.along ? recipe.rowStep : recipe.columnStep));
    if ((number >> 1 & 15) == 0) {
        u32 place = (u32)recipe.start + SPECIAL_EVERY * below(number, (u32)recipe.step);
        return term == place ? withSign(number, 1 << (number >> 5 & 3)) : 0;
    }
    return special(recipe, row, column) ? 0 : ones(recipe, row, column);
}

// The kind is a template parameter, so that loops over elements have no branch on it.
template <int KIND> __device__ __forceinline__ int integer(const Recipe &recipe, u32 row, u32 column) {
    if (KIND == NARROW) return narrow(recipe, row, column);
    u64 number = drawn(recipe, row, column);
    if (KIND == MANTISSAS || (KIND == WIDE && special(recipe, row, column))) return mantissa(number);
    if (KIND == WIDE) return withSign(number, 1 + below(number, WIDE_LIMIT));
    return 1 + below(number, recipe.number);
}

// The place of a line's only element. A step is a whole number of places, as a fraction of the line in 64 bits. So the
// wrapping product gives the remainder without a division.
__device__ __forceinline__ u32 place(const Recipe &recipe, u32 line) {
    return __umulhi((u32)((recipe.start + line * recipe.step) >> 32), recipe.length);
}

// That element: a signed power of two, from 2^-4 to 2^4.
__device__ __forceinline__ float scale(const Recipe &recipe, u32 line) {
    u64 number = mix(recipe.seed + line * (recipe.along ? recipe.rowStep : recipe.columnStep));
    return __uint_as_float((127 - 4 + below(number, 9)) << 23 | (u32)(number & 1) << 31);
}

template <int KIND> __device__ __forceinline__ float element(const Recipe &recipe, u32 row, u32 column) {
    if (KIND != SELECTION) return (float)integer<KIND>(recipe, row, column);
    u32 line = recipe.along ? row : column, index = recipe.along ? column : row;
    return index == place(recipe, line) ? scale(recipe, line) : 0.0f;
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
template <typename Body> __device__ __forceinline__ void forTile(u32 rows, u32 columns, Body body) {
    u32 top = blockIdx.x * ROWS, left = blockIdx.y * STRIP + threadIdx.x;
#pragma unroll 1
    for (u32 step = 0; step < STRIP; step += THREADS) {
        u32 column = left + step;
        if (column >= columns) return;
#pragma unroll
        for (u32 row = top; row < top + ROWS; row++)
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
template <u32 COUNT> __device__ __forceinline__ void addUp(u64 (&sums)[COUNT]) {
    __shared__ u64 ofWarp[THREADS / 32][COUNT];
#pragma unroll
    for (u32 i = 0; i < COUNT; i++)
        for (int distance = 16; distance > 0; distance /= 2)
            sums[i] += __shfl_down_sync(WHOLE_WARP, sums[i], distance);
    if (threadIdx.x % 32 == 0)
        for (u32 i = 0; i < COUNT; i++) ofWarp[threadIdx.x / 32][i] = sums[i];
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (u32 warp = 1; warp < THREADS / 32; warp++)
        for (u32 i = 0; i < COUNT; i++) sums[i] += ofWarp[warp][i];
}

// This block's rows of a matrix times a vector, in integers that wrap at 2^64.
template <typename Vector>
__device__ __forceinline__ void multiply(u64 *out, u32 rows, u32 columns, u64 kind, const Recipe &recipe,
                                         Vector vector) {
    u32 top = blockIdx.x * ROWS;
    u64 sums[ROWS] = {};
    auto run = [&](auto known) {
#pragma unroll 1
        for (u32 column = threadIdx.x; column < columns; column += THREADS) {
            u64 factor = vector(column);
#pragma unroll
            for (u32 i = 0; i < ROWS; i++)
                sums[i] += (u64)(long long)integer<decltype(known)::value>(recipe, top + i, column) * factor;
        }
    };
    // Products of other kinds are compared element by element.
    if (kind == WIDE)
        run(Known<WIDE>());
    else
        run(Known<NARROW>());
    addUp(sums);
    if (threadIdx.x != 0) return;
    for (u32 i = 0; i < ROWS && top + i < rows; i++) out[top + i] = sums[i];
}

// The vector for checking a product.
__device__ __forceinline__ u64 random(u64 seed, u32 index) { return mix(seed + (index + 1) * 0xD6E8FEB86659FD93ull); }

}  // namespace

extern "C" __global__ void make_matrix(float *out, u64 rows, u64 columns, RECIPE(matrix)) {
    Recipe recipe = MADE(matrix);
    forKind(matrixKind, [&](auto known) {
        forTile(rows, columns, [&](u32 row, u32 column, u64 at) {
            out[at] = element<decltype(known)::value>(recipe, row, column);
        });
    });
}

// Compares bit for bit: an input with -0 instead of 0 was overwritten.
extern "C" __global__ void compare_matrix(const u32 *found, u64 *counter, u64 rows, u64 columns, RECIPE(matrix)) {
    Recipe recipe = MADE(matrix);
    Tally tally;
    forKind(matrixKind, [&](auto known) {
        forTile(rows, columns, [&](u32 row, u32 column, u64 at) {
            if (found[at] != __float_as_uint(element<decltype(known)::value>(recipe, row, column))) tally.add(at);
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

// Compares a product whose elements are scaled elements of the dense factor. It is exact, and its last bits differ if
// either factor was rounded. `chosen` is the left factor if its lines are rows.
extern "C" __global__ void compare_selection(const float *found, u64 *counter, u64 rows, u64 columns, RECIPE(chosen),
                                             RECIPE(dense)) {
    Recipe chosen = MADE(chosen), dense = MADE(dense);
    Tally tally;
    forTile(rows, columns, [&](u32 row, u32 column, u64 at) {
        u32 line = chosen.along ? row : column;
        u32 from = place(chosen, line);
        int value = chosen.along ? integer<MANTISSAS>(dense, from, column) : integer<MANTISSAS>(dense, row, from);
        // In this form, a NaN differs.
        if (!(found[at] == (float)value * scale(chosen, line))) tally.add(at);
    });
    tally.report(counter);
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
    addUp(sum);
    if (threadIdx.x != 0) return;
    u64 row = blockIdx.x / (u32)outColumns, column = blockIdx.x - row * outColumns;
    if (found[turned ? column * outRows + row : blockIdx.x] == (float)sum[0]) return;
    atomicAdd(counter, 1ull);
    atomicMax(counter + 1, ~(u64)blockIdx.x);
}

// Freivalds' check of C = A B. It computes z = B r and w = A z, and compares C r with w. Differences of integers are at
// most 2^28. So for an incorrect row, C r = w holds for one in 2^36 vectors r at most.
extern "C" __global__ void multiply_random(u64 *out, u64 vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix), [=](u32 index) { return random(vector, index); });
}

extern "C" __global__ void multiply_vector(u64 *out, const u64 *vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix), [=](u32 index) { return vector[index]; });
}

// An element that isn't an integer, or too large for an exact float, makes its row incorrect. All others are integers,
// so the sums are comparable. -0 becomes 0.
extern "C" __global__ void compare_product(const float *found, const u64 *expected, u64 *counter, u64 vector, u64 rows,
                                           u64 columns) {
    u32 top = blockIdx.x * ROWS;
    u64 sums[ROWS] = {};
    u32 bad = 0;  // one bit for each row
#pragma unroll 1
    for (u32 column = threadIdx.x; column < columns; column += THREADS) {
        u64 factor = random(vector, column);
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            if (top + i >= rows) break;
            float value = found[(top + i) * columns + column];
            // The first comparison is false for a NaN. An integer below 2^31 stays unchanged by the two conversions.
            bool good = fabsf(value) <= LARGEST && (float)(int)value == value;
            sums[i] += (u64)(long long)(good ? (int)value : 0) * factor;
            bad |= (u32)!good << i;
        }
    }
    addUp(sums);
    // This is rare, so it may be slow.
    u32 badRows = 0;
    if (__syncthreads_or(bad != 0))
        for (u32 i = 0; i < ROWS; i++) badRows |= (u32)(__syncthreads_or(bad >> i & 1) != 0) << i;
    if (threadIdx.x != 0) return;
    for (u32 i = 0; i < ROWS && top + i < rows; i++) {
        if (sums[i] == expected[top + i] && !(badRows >> i & 1)) continue;
        atomicAdd(counter, 1ull);
        atomicMax(counter + 1, ~(u64)(top + i));
    }
}

__device__ __forceinline__ float fromHalf(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ float fromBfloat(unsigned short bits) { return __uint_as_float((u32)bits << 16); }

// The fields of a float at the same places make a number whose exponent is too small by 120. The format has no infinity.
__device__ __forceinline__ float fromE4m3(unsigned char bits) {
    float value = __uint_as_float((u32)(bits & 0x7F) << 20) * 0x1p120f;
    return (bits & 0x7F) == 0x7F ? __uint_as_float(0x7FFFFFFF) : bits & 0x80 ? -value : value;
}

__device__ __forceinline__ float fromE5m2(unsigned char bits) { return fromHalf((unsigned short)(bits << 8)); }

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
