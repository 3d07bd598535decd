#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float m[TILE_WIDTH][TILE_WIDTH];
    __shared__ float n[TILE_WIDTH][TILE_WIDTH];
    int r = blockIdx.y * TILE_WIDTH + threadIdx.y, c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float v = 0;
    for (int p = 0; p < Width / TILE_WIDTH; p++) {
        m[threadIdx.y][threadIdx.x] = M[r * Width + p * TILE_WIDTH + threadIdx.x];
        n[threadIdx.y][threadIdx.x] = N[(p * TILE_WIDTH + threadIdx.y) * Width + c];
        for (int k = 0; k < TILE_WIDTH; k++) v += m[threadIdx.y][k] * n[k][threadIdx.x];
    }
    P[r * Width + c] = v;
}
