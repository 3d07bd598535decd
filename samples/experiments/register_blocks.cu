// A tiled matrix product with a block of TM by TN sums in each thread's registers. A thread block computes BM by BN
// elements of P, and its tiles are BK deep. register_blocks.toml tries all combinations, register_blocks_tuned.toml a part.

#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4
#define THREADS ((BM / TM) * (BN / TN))
//!tilelab block=(BN/TN,BM/TM) grid=(ceil(Width/BN), ceil(Width/BM))

__global__ void __launch_bounds__(THREADS) MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[BM][BK + 1];  // the column more keeps rows in different banks
    __shared__ float Nds[BK][BN];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * (BN / TN) + tx;
    int top = blockIdx.y * BM;
    int left = blockIdx.x * BN;

    float sums[TM][TN] = {};
    for (int start = 0; start < Width; start += BK) {
#pragma unroll
        for (int i = thread; i < BM * BK; i += THREADS) {
            int row = top + i / BK;
            int k = start + i % BK;
            Mds[i / BK][i % BK] = row < Width && k < Width ? M[row * Width + k] : 0.0f;
        }
#pragma unroll
        for (int i = thread; i < BK * BN; i += THREADS) {
            int k = start + i / BN;
            int column = left + i % BN;
            Nds[i / BN][i % BN] = k < Width && column < Width ? N[k * Width + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float m[TM], n[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                m[i] = Mds[ty + BM / TM * i][k];
            }
#pragma unroll
            for (int j = 0; j < TN; ++j) {
                n[j] = Nds[k][tx + BN / TN * j];
            }
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int j = 0; j < TN; ++j) {
                    sums[i][j] += m[i] * n[j];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            int row = top + ty + BM / TM * i;
            int column = left + tx + BN / TN * j;
            if (row < Width && column < Width) {
                P[row * Width + column] = sums[i][j];
            }
        }
    }
}
