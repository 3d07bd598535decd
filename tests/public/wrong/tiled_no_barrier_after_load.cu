#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int n) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
        int ac = t * TILE_WIDTH + threadIdx.x, br = t * TILE_WIDTH + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < n && ac < n ? A[row * n + ac] : 0;
        b[threadIdx.y][threadIdx.x] = br < n && col < n ? B[br * n + col] : 0;
        for (int k = 0; k < TILE_WIDTH; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}
