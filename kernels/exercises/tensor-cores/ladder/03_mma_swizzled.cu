// Idea: mma.sync instead of wmma, with tiles that are swizzled in shared memory and copied ahead of time.
//
// Over the rung below: `ldmatrix` gives each thread what the tensor cores want from it. A swizzle keeps the banks apart,
// without extra cells. A warp multiplies 64 x 32 elements of P. So it uses each row of M for 32 columns, and each column of
// N for 64 rows. While the present tiles are multiplied, `cp.async` copies the next ones.

#include <cuda.h>
#include <cuda_bf16.h>

#define SIDE 128   // rows and columns of P per block
#define DEPTH 32   // of a tile
#define STAGES 4
#define THREADS 256  // 2 x 4 warps
//!tilelab block=(THREADS) grid=(ceil(cols/SIDE), ceil(rows/SIDE)) shared=(STAGES*2*SIDE*DEPTH*2)

__device__ unsigned sharedAddress(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// A row of M's tile, or a column of N's, has four chunks of 16 bytes. They change places by the row.
__device__ int placeOf(int line, int chunk) { return line * (DEPTH / 8) + (chunk ^ line / 2 % 4); }

// Begins to copy a chunk, or to write 16 zeros for what is outside.
__device__ void copyChunk(uint4* to, const __nv_bfloat16* matrix, int line, int k, int lines, int depth) {
    bool inside = line < lines && k < depth;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)),
                 "l"(inside ? matrix + (size_t)line * depth + k : matrix), "r"(inside ? 16 : 0) : "memory");
}

__device__ void loadFour(unsigned (&into)[4], const uint4* chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3]) : "r"(sharedAddress(chunk)) : "memory");
}

__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS) tensorProduct(const __nv_bfloat16* M, const __nv_bfloat16* N, float* P, int rows, int depth, int cols,
                              const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN) {
    extern __shared__ uint4 tiles[];
    const int chunks = SIDE * DEPTH / 8;  // in each tile
    int top = blockIdx.y * SIDE, left = blockIdx.x * SIDE;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = warp / 4 * 64, col = warp % 4 * 32;
    int phases = (depth + DEPTH - 1) / DEPTH;

    // Begins the copies of a phase. Every call makes a group, also an empty one.
    auto fetch = [&](int phase) {
        if (phase < phases) {
            uint4* tile = tiles + phase % STAGES * 2 * chunks;
            for (int i = threadIdx.x; i < chunks; i += THREADS) {
                int line = i / (DEPTH / 8), chunk = i % (DEPTH / 8), place = placeOf(line, chunk);
                copyChunk(&tile[place], M, top + line, phase * DEPTH + chunk * 8, rows, depth);
                copyChunk(&tile[chunks + place], N, left + line, phase * DEPTH + chunk * 8, cols, depth);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[4][4][4] = {};
    for (int phase = 0; phase < STAGES - 1; ++phase) fetch(phase);
    for (int phase = 0; phase < phases; ++phase) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch(phase + STAGES - 1);
        const uint4* Ms = tiles + phase % STAGES * 2 * chunks;
        const uint4* Ns = Ms + chunks;
        #pragma unroll
        for (int k = 0; k < DEPTH / 16; ++k) {
            unsigned a[4][4], b[2][4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) loadFour(a[i], &Ms[placeOf(row + 16 * i + lane % 16, 2 * k + lane / 16)]);
            #pragma unroll
            for (int j = 0; j < 2; ++j)
                loadFour(b[j], &Ns[placeOf(col + 16 * j + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2)]);
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int Row = top + row + 16 * i + lane / 4, Col = left + col + 8 * j + lane % 4 * 2;
            if (Col < cols) {
                if (Row < rows) *(float2*)&P[(size_t)Row * cols + Col] = make_float2(sum[i][j][0], sum[i][j][1]);
                if (Row + 8 < rows) *(float2*)&P[(size_t)(Row + 8) * cols + Col] = make_float2(sum[i][j][2], sum[i][j][3]);
            }
        }
}
