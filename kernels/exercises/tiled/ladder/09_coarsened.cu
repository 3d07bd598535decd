// Idea: thread coarsening. Each block computes four neighbouring tiles of P, and each thread one element of each tile.
// The tile of M is loaded once for all four.
//
// Over the rung below: fewer loads from global memory, five tiles instead of eight. It gains little, because shared
// memory limits the kernel. Every multiply-add needs as many accesses to it as before.
//
// Reaches 9405 GFLOPS at Width=2048 on an H200, 18.7 % of cuBLAS.

#define TILE_WIDTH 32
#define COARSE_FACTOR 4
//!tilelab grid=(ceil(Width/(TILE_WIDTH*COARSE_FACTOR)), ceil(Width/TILE_WIDTH))

// Two blocks of 1024 threads on an SM: at most 32 registers a thread.
__global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH, 2) MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int colStart = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;

    float Pvalue[COARSE_FACTOR] = {};
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int ph = 0; ph < phases; ++ph) {
        int mCol = ph * TILE_WIDTH + tx;
        int nRow = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && mCol < Width) ? M[Row * Width + mCol] : 0.0f;

        for (int c = 0; c < COARSE_FACTOR; ++c) {
            int Col = colStart + c * TILE_WIDTH;
            Nds[ty][tx] = (nRow < Width && Col < Width) ? N[nRow * Width + Col] : 0.0f;
            __syncthreads();

            for (int k = 0; k < TILE_WIDTH; ++k) {
                Pvalue[c] += Mds[ty][k] * Nds[k][tx];
            }
            __syncthreads();
        }
    }

    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int Col = colStart + c * TILE_WIDTH;
        if (Row < Width && Col < Width) {
            P[Row * Width + Col] = Pvalue[c];
        }
    }
}
