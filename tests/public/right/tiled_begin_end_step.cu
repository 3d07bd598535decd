#define BLOCK_SIZE 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int wA)
{
    int bx = blockIdx.x;
    int by = blockIdx.y;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int aBegin = wA * BLOCK_SIZE * by;
    int aEnd = aBegin + wA - 1;
    int aStep = BLOCK_SIZE;
    int bBegin = BLOCK_SIZE * bx;
    int bStep = BLOCK_SIZE * wA;
    int row = by * BLOCK_SIZE + ty, col = bx * BLOCK_SIZE + tx;
    float Csub = 0;

    for (int a = aBegin, b = bBegin, done = 0; a <= aEnd; a += aStep, b += bStep, done += BLOCK_SIZE) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[ty][tx] = row < wA && done + tx < wA ? A[a + wA * ty + tx] : 0.0f;
        Bs[ty][tx] = col < wA && done + ty < wA ? B[b + wA * ty + tx] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) {
            Csub += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    int c = wA * BLOCK_SIZE * by + BLOCK_SIZE * bx;
    if (row < wA && col < wA) C[c + wA * ty + tx] = Csub;
}
