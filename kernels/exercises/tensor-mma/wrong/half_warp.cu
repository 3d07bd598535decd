// A matrix product with mma.sync. Chunks of 16 bytes are swizzled in shared memory, so ldmatrix has no bank conflict.

#include <cuda_bf16.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 64
#endif

#define CHUNK 8  // elements in 16 bytes
#define CHUNKS (TILE_WIDTH / CHUNK)
#define THREADS (2 * TILE_WIDTH)

typedef __nv_bfloat16 bf16;

__device__ unsigned sharedAddress(const bf16* place) { return (unsigned)__cvta_generic_to_shared(place); }

// Loads four matrices of 8 x 8. Threads 0 to 7 give the rows of the first one, threads 8 to 15 of the second.
__device__ void loadMatrices(unsigned (&into)[4], const bf16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3]) : "r"(sharedAddress(row)) : "memory");
}

// Loads two matrices of 8 x 8 and transposes each. Threads 0 to 15 give the rows.
__device__ void loadTransposed(unsigned (&into)[2], const bf16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(into[0]), "=r"(into[1]) : "r"(sharedAddress(row)) : "memory");
}

// Adds the product of a (16 x 16) and b (16 x 8) to the sum.
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The place of a chunk in a tile. Eight rows have their chunks of one column in eight different groups of banks.
__device__ bf16* chunkAt(bf16* tile, int row, int chunk) {
    return &tile[row * TILE_WIDTH + (chunk ^ (row % 8)) * CHUNK];
}

// Copies a chunk of a matrix into a tile, or zeros where the matrix has none.
__device__ void copyChunk(bf16* to, const bf16* matrix, int row, int col, int rows, int cols) {
    bool inside = row < rows && col < cols;
    *(uint4*)to = inside ? *(const uint4*)&matrix[row * cols + col] : make_uint4(0, 0, 0, 0);
}

__global__ void tensorProduct(const bf16* M, const bf16* N, float* P, int rows, int depth, int cols) {
    __shared__ __align__(16) bf16 Ms[TILE_WIDTH * TILE_WIDTH];
    __shared__ __align__(16) bf16 Ns[TILE_WIDTH * TILE_WIDTH];
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    // this warp's 16 rows of the tile, in steps of 8 columns
    float sums[CHUNKS][4] = {};

    for (int phase = 0; phase < depth; phase += TILE_WIDTH) {
        for (int each = threadIdx.x; each < TILE_WIDTH * CHUNKS; each += THREADS) {
            int row = each / CHUNKS, chunk = each % CHUNKS;
            copyChunk(chunkAt(Ms, row, chunk), M, top + row, phase + chunk * CHUNK, rows, depth);
            copyChunk(chunkAt(Ns, row, chunk), N, phase + row, left + chunk * CHUNK, depth, cols);
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k += 16) {
            unsigned a[4], b[2];
            loadMatrices(a, chunkAt(Ms, 16 * warp + lane % 16, k / CHUNK + lane / 16));
            for (int n = 0; n < CHUNKS; ++n) {
                loadTransposed(b, chunkAt(Ns, k + lane % 16, n));
                if (lane < 16) multiply(sums[n], a, b);
            }
        }
        __syncthreads();
    }

    int row = top + 16 * warp + lane / 4;
    if (top + 16 * warp >= rows) return;
    for (int n = 0; n < CHUNKS; ++n) {
        int col = left + n * CHUNK + lane % 4 * 2;
        if (col >= cols) return;
        *(float2*)&P[row * cols + col] = make_float2(sums[n][0], sums[n][1]);
        *(float2*)&P[(row + 8) * cols + col] = make_float2(sums[n][2], sums[n][3]);
    }
}
