__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        a[y][x] = M[i * Width + t + x];
        b[y][x] = N[(t + y) * Width + j];
        __syncthreads();
        float v = b[x][y];
        b[y][x] = v;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[y][k] * b[x][k];
        __syncthreads();
    }
    P[i * Width + j] = s;
}
