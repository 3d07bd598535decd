#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int n) {
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.x * TILE_WIDTH + tx;
    int col = blockIdx.y * TILE_WIDTH + ty;
    float res = 0;
    __shared__ float sharedA[TILE_WIDTH][TILE_WIDTH];
    __shared__ float sharedB[TILE_WIDTH][TILE_WIDTH];
    for (int k = 0; k < n; k += TILE_WIDTH) {
        sharedA[tx][ty] = A[row * n + k + ty];
        sharedB[tx][ty] = B[(k + tx) * n + col];
        __syncthreads();
        for (int j = 0; j < TILE_WIDTH; ++j) res += sharedA[tx][j] * sharedB[j][ty];
        __syncthreads();
    }
    C[row * n + col] = res;
}
