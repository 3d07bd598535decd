#define B_HEIGHT A_WIDTH
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    __shared__ float As[A_HEIGHT][A_WIDTH];
    __shared__ float Bs[B_HEIGHT][B_WIDTH];
    int x = threadIdx.x;
    int y = threadIdx.y;
    if (x < A_WIDTH) {
        As[y][x] = d_A[y][x];
        __syncthreads();
    }
    if (y < B_HEIGHT) {
        Bs[y][x] = d_B[y][x];
        __syncthreads();
    }
    float C = 0;
    for (int k = 0; k < A_WIDTH; ++k) {
        C += As[y][k] * Bs[k][x];
    }
    d_C[y][x] = C;
}
