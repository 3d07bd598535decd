// A matrix product of 8-bit integers with mma.sync. Each thread loads its part of the fragments itself.

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

#define DEPTH 32  // elements of a row of M, and of a column of N, in one phase
#define WORDS (DEPTH / 4)
#define STRIDE (WORDS + 4)  // words from one line to the next; so eight lines start in different banks
#define THREADS (2 * TILE_WIDTH)

// Adds the product of a (16 x 32 signed bytes) and b (32 x 8) to the sum.
__device__ void multiply(int (&sum)[4], const int (&a)[4], const int (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four neighbours of a line of a matrix in one word, or zeros where the matrix has none.
__device__ int fourOf(const char* matrix, int line, int first, int lines, int length) {
    return line < lines && first < length ? *(const int*)&matrix[line * length + first] : 0;
}

__global__ void tensorProduct(const char* M, const char* N, int* P, int rows, int depth, int cols) {
    __shared__ int Ms[TILE_WIDTH][STRIDE];  // rows of M
    __shared__ int Ns[TILE_WIDTH][STRIDE];  // columns of N
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int group = lane / 4, member = lane % 4;

    // this warp's 16 rows of the tile, in steps of 8 columns
    int sums[TILE_WIDTH / 8][4] = {};

    for (int phase = 0; phase < depth; phase += DEPTH) {
        for (int each = threadIdx.x; each < TILE_WIDTH * WORDS; each += THREADS) {
            int line = each / WORDS, word = each % WORDS;
            Ms[line][word] = fourOf(M, top + line, phase + 4 * word, rows, depth);
            Ns[line][word] = fourOf(N, left + line, phase + 4 * word, cols, depth);
        }
        __syncthreads();
        int row = 16 * warp + group;
        int a[4] = {Ms[row][member], Ms[row][member + 4], Ms[row + 8][member], Ms[row + 8][member + 4]};
        for (int n = 0; n < TILE_WIDTH / 8; ++n) {
            int b[2] = {Ns[8 * n + group][member], Ns[8 * n + group][member + 4]};
            multiply(sums[n], a, b);
        }
        __syncthreads();
    }

    int row = top + 16 * warp + group;
    if (row >= rows) return;
    for (int n = 0; n < TILE_WIDTH / 8; ++n) {
        int col = left + 8 * n + 2 * member;
        if (col >= cols) return;
        *(int2*)&P[row * cols + col] = make_int2(sums[n][0], sums[n][1]);
        *(int2*)&P[(row + 8) * cols + col] = make_int2(sums[n][2], sums[n][3]);
    }
}
