__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    __shared__ int t;
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    if (x == 0 && y == 0) t = 0;
    __syncthreads();
    while (t < Width) {
        a[y][x] = M[i * Width + t + x];
        b[y][x] = N[(t + y) * Width + j];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[y][k] * b[k][x];
        __syncthreads();
        if (x == 0 && y == 0) t += TILE_WIDTH;
    }
    P[i * Width + j] = s;
}
