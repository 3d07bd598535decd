#define B_HEIGHT A_WIDTH
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    __shared__ float As[A_HEIGHT * A_WIDTH];
    __shared__ float Bs[B_HEIGHT * B_WIDTH];
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y;
    for (int i = thread; i < A_HEIGHT * A_WIDTH; i += threads) As[i] = d_A[i / A_WIDTH][i % A_WIDTH];
    for (int i = thread; i < B_HEIGHT * B_WIDTH; i += threads) Bs[i] = d_B[i / B_WIDTH][i % B_WIDTH];
    __syncthreads();
    float C = 0;
    for (int k = 0; k < A_WIDTH; ++k) C += As[threadIdx.y * A_WIDTH + k] * Bs[k * B_WIDTH + threadIdx.x];
    d_C[threadIdx.y][threadIdx.x] = C;
}
