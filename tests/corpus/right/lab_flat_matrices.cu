#define B_HEIGHT A_WIDTH
__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[B_HEIGHT * B_WIDTH];
__device__ float d_C[A_HEIGHT * B_WIDTH];

__global__ void matrixMulCUDA()
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const float* a = d_A + (blockIdx.y * BLOCK_SIZE + threadIdx.y) * A_WIDTH + threadIdx.x;
    const float* b = d_B + threadIdx.y * B_WIDTH + blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float Csub = 0;
    for (int i = 0; i < A_WIDTH; i += BLOCK_SIZE, a += BLOCK_SIZE, b += BLOCK_SIZE * B_WIDTH) {
        As[threadIdx.y][threadIdx.x] = *a;
        Bs[threadIdx.y][threadIdx.x] = *b;
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            Csub += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    d_C[(blockIdx.y * BLOCK_SIZE + threadIdx.y) * B_WIDTH + blockIdx.x * BLOCK_SIZE + threadIdx.x] = Csub;
}
