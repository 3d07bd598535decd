#define TILE_WIDTH 16
__global__ void matrixMultiply(float* A, float* B, float* C, int n) {
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (r < n && c < n) {
        float s = 0;
        for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
