#ifndef A_HEIGHT
#define A_HEIGHT 64
#endif
#ifndef A_WIDTH
#define A_WIDTH 96
#endif
#ifndef B_WIDTH
#define B_WIDTH 128
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
__constant__ int BLOCK_SIZE;
extern __shared__ float pool[];

__global__ void matrixMulCUDA() {
    const int bs = BLOCK_SIZE;
    float* const a = pool;
    float* const b = &pool[bs * bs];
    const int tx = threadIdx.x, ty = threadIdx.y, me = ty * bs + tx;
    const int row = blockIdx.y * bs + ty, col = blockIdx.x * bs + tx;
    float c = 0;
    for (int k0 = 0; k0 < A_WIDTH; k0 += bs) {
        a[me] = d_A[row][k0 + tx];
        b[me] = d_B[k0 + ty][col];
        __syncthreads();
        for (int k = 0; k < bs; ++k) c += a[ty * bs + k] * b[k * bs + tx];
        __syncthreads();
    }
    d_C[row][col] = c;
}
