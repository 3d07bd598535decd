#ifndef A_HEIGHT
#define A_HEIGHT 32
#endif
#ifndef A_WIDTH
#define A_WIDTH 32
#endif
#ifndef B_WIDTH
#define B_WIDTH 32
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[A_WIDTH * B_WIDTH];
__device__ float d_C[A_HEIGHT * B_WIDTH];

static __device__ float& at(float* m, int pitch, int r, int c) { return m[r * pitch + c]; }

__global__ void matrixMulCUDA() {
    __shared__ float a[BLOCK_SIZE * BLOCK_SIZE], b[BLOCK_SIZE * BLOCK_SIZE];
    const int x = threadIdx.x, y = threadIdx.y, own = y * BLOCK_SIZE + x;
    const int row = blockIdx.y * BLOCK_SIZE + y, col = blockIdx.x * BLOCK_SIZE + x;
    float sum = 0;
    for (int k0 = 0; k0 < A_WIDTH; k0 += BLOCK_SIZE) {
        a[own] = at(d_A, A_WIDTH, row, k0 + x);
        b[own] = at(d_B, B_WIDTH, k0 + y, col);
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) sum += a[y * BLOCK_SIZE + k] * b[k * BLOCK_SIZE + x];
        __syncthreads();
    }
    at(d_C, B_WIDTH, row, col) = sum;
}
