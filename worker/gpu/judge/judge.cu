// The judge's own kernels: they make the inputs of a launch on the device and look at what it left there.
//
// Every element follows from a recipe by a hash of its row and column, as in recipes.py, bit for bit. So nothing that a
// judged kernel could have changed is read here but what is compared. All arithmetic is in integers, or exact.
//
// Every kernel sees a matrix as lines: `row` counts the lines as they lie in memory, `column` the elements of a line.
// For a matrix in column-major order, the host swaps what belongs to rows and columns of the recipe.
//
// All integer arguments are 64 bits wide, whatever they hold: so the host has one way to pass them.

typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

// A block has THREADS threads and looks at ROWS rows: what depends on the column alone is computed once for all of
// them, and the loads of the rows are under way together, so that no loop over columns needs to be unrolled. Where it
// need not see whole rows, it has a strip of columns.
constexpr u32 THREADS = 256, ROWS = 4, STRIP = 1024;
constexpr u32 WHOLE_WARP = 0xFFFFFFFF;

enum Kind { WIDE, NARROW, MANTISSAS, SELECTION, WHOLE };

constexpr u32 WIDE_LIMIT = 8191;
constexpr u32 SPECIAL_EVERY = 16;
constexpr float LARGEST = 134217728.0f;  // 2^27: no right output lies beyond it

// rowStep, columnStep: what sets the numbers apart that are mixed for neighbouring elements
// along: whether the lines that dot products run along are the rows
// length: elements of such a line
// number: NARROW: of so many neighbours one is not 0; WHOLE: the largest element
// start, step: SELECTION: where the element of each line lies; WIDE, NARROW: the first special term, and how many
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

// The finish of the generator SplitMix64.
__device__ __forceinline__ u64 mix(u64 number) {
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ull;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBull;
    return number ^ (number >> 31);
}

__device__ __forceinline__ u64 drawn(const Recipe &recipe, u32 row, u32 column) {
    return mix(recipe.seed + row * recipe.rowStep + column * recipe.columnStep);
}

// From 0 to below the limit, from the upper half of what was drawn; the lowest bit is left for the sign.
__device__ __forceinline__ u32 below(u64 number, u32 limit) { return __umulhi((u32)(number >> 32), limit); }

__device__ __forceinline__ int withSign(u64 number, int magnitude) { return number & 1 ? -magnitude : magnitude; }

__device__ __forceinline__ int mantissa(u64 number) {
    return withSign(number, (1 << 23) + 1 + 2 * ((u32)(number >> 32) & ((1 << 22) - 1)));
}

__device__ __forceinline__ bool special(const Recipe &recipe, u32 row, u32 column) {
    return (recipe.along ? column : row) % SPECIAL_EVERY == (u32)recipe.start;
}

// One number is drawn for a group: which of its elements is not 0, and that one's sign. Mostly a group is one element.
__device__ __forceinline__ int ones(const Recipe &recipe, u32 row, u32 column) {
    if (recipe.number == 1) return withSign(drawn(recipe, row, column), 1);
    u32 index = recipe.along ? column : row;
    u32 group = index / recipe.number, first = group * recipe.number;
    u64 number = recipe.along ? drawn(recipe, row, group) : drawn(recipe, group, column);
    u32 size = min(recipe.number, recipe.length - first);
    return index - first == below(number, size) ? withSign(number, 1) : 0;
}

// One number is drawn for a line: whether it is special, and then where and what its one element is.
__device__ __forceinline__ int narrow(const Recipe &recipe, u32 row, u32 column) {
    u32 line = recipe.along ? row : column, term = recipe.along ? column : row;
    u64 number = mix(~recipe.seed + line * (recipe.along ? recipe.rowStep : recipe.columnStep));
    if ((number >> 1 & 15) == 0) {
        u32 place = (u32)recipe.start + SPECIAL_EVERY * below(number, (u32)recipe.step);
        return term == place ? withSign(number, 1 << (number >> 5 & 3)) : 0;
    }
    return special(recipe, row, column) ? 0 : ones(recipe, row, column);
}

// The kind is known to the compiler, so that loops over elements hold no choice.
template <int KIND> __device__ __forceinline__ int integer(const Recipe &recipe, u32 row, u32 column) {
    if (KIND == NARROW) return narrow(recipe, row, column);
    u64 number = drawn(recipe, row, column);
    if (KIND == MANTISSAS || (KIND == WIDE && special(recipe, row, column))) return mantissa(number);
    if (KIND == WIDE) return withSign(number, 1 + below(number, WIDE_LIMIT));
    return 1 + below(number, recipe.number);
}

// Where the one element of a line lies. A step is a whole number of places, as a fraction of the line in 64 bits: the
// wrapping product is the remainder that a division would cost.
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

// Every element of this block's rows in its strip. Threads beside each other have columns beside each other.
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

// What differs: how much, and the first. Kept as the largest complement, so that memory full of zeros says "nothing".
struct Tally {
    u32 count = 0;
    u64 first = 0;

    __device__ __forceinline__ void add(u64 at) {
        count++;
        first = max(first, ~at);
    }

    // One update of memory for a warp, and none where it saw no difference: all of them go to one place.
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

// The sums over all threads of the block, to be used by thread 0 alone.
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
    // Products of the other kinds are compared element by element.
    if (kind == WIDE)
        run(Known<WIDE>());
    else
        run(Known<NARROW>());
    addUp(sums);
    if (threadIdx.x != 0) return;
    for (u32 i = 0; i < ROWS && top + i < rows; i++) out[top + i] = sums[i];
}

// The vector that a product is checked with.
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

// Bit for bit: an input whose 0 became -0 was written to.
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

// Two zones of memory at once, each with a counter of its own.
extern "C" __global__ void compare_words(const u32 *before, const u32 *behind, u64 *counters, u64 words, u64 word) {
    const u32 *found = blockIdx.y == 0 ? before : behind;
    Tally tally;
    u64 end = min(words, (u64)(blockIdx.x + 1) * STRIP);
#pragma unroll 4
    for (u64 at = (u64)blockIdx.x * STRIP + threadIdx.x; at < end; at += THREADS)
        if (found[at] != (u32)word) tally.add(at);
    tally.report(counters + 2 * blockIdx.y);
}

// A product of which each element is one element of the dense factor, scaled: exact, and wrong in its last bits where
// either of the two was rounded. `chosen` is the left factor where its lines are rows.
extern "C" __global__ void compare_selection(const float *found, u64 *counter, u64 rows, u64 columns, RECIPE(chosen),
                                             RECIPE(dense)) {
    Recipe chosen = MADE(chosen), dense = MADE(dense);
    Tally tally;
    forTile(rows, columns, [&](u32 row, u32 column, u64 at) {
        u32 line = chosen.along ? row : column;
        u32 from = place(chosen, line);
        int value = chosen.along ? integer<MANTISSAS>(dense, from, column) : integer<MANTISSAS>(dense, row, from);
        // Written so that a NaN differs.
        if (!(found[at] == (float)value * scale(chosen, line))) tally.add(at);
    });
    tally.report(counter);
}

// A block for each section of the input, whose elements are counted row by row; `turned`: the output lies in
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

// Freivalds' check of C = A B, in three steps: z = B r, w = A z, and C r beside w. For a row of C that is wrong by
// integers, C r = w holds for at most one in 2^36 of all vectors r: the wrong terms are integers of at most 2^28.
extern "C" __global__ void multiply_random(u64 *out, u64 vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix), [=](u32 index) { return random(vector, index); });
}

extern "C" __global__ void multiply_vector(u64 *out, const u64 *vector, u64 rows, u64 columns, RECIPE(matrix)) {
    multiply(out, rows, columns, matrixKind, MADE(matrix), [=](u32 index) { return vector[index]; });
}

// An element that is no integer, or too large to be one that float holds, makes its row wrong by itself. What is left
// is an integer, so that the sum means the same as the product's. -0 becomes 0.
extern "C" __global__ void compare_product(const float *found, const u64 *expected, u64 *counter, u64 vector, u64 rows,
                                           u64 columns) {
    u32 top = blockIdx.x * ROWS;
    u64 sums[ROWS] = {};
    u32 bad = 0;  // a bit for each row
#pragma unroll 1
    for (u32 column = threadIdx.x; column < columns; column += THREADS) {
        u64 factor = random(vector, column);
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            if (top + i >= rows) break;
            float value = found[(top + i) * columns + column];
            // The first comparison is false for a NaN; an integer below 2^31 survives the way there and back.
            bool good = fabsf(value) <= LARGEST && (float)(int)value == value;
            sums[i] += (u64)(long long)(good ? (int)value : 0) * factor;
            bad |= (u32)!good << i;
        }
    }
    addUp(sums);
    // Rarely is there any, and then it may take its time.
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
