#define TILE_WIDTH 16

__global__ void MatrixMulKernel(float* A, float* B, float* C, int n) {
    __shared__ float tileA[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tileB[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (n + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
        int ac = t * TILE_WIDTH + threadIdx.x;
        int br = t * TILE_WIDTH + threadIdx.y;
        tileA[threadIdx.y][threadIdx.x] = (row < n && ac < n) ? A[row * n + ac] : 0.f;
        tileB[threadIdx.y][threadIdx.x] = (br < n && col < n) ? B[br * n + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}
