__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0, m = M[i * Width + x], n = N[y * Width + j];
    for (int t = TILE_WIDTH; t <= Width; t += TILE_WIDTH) {
        a[y][x] = m;
        b[y][x] = n;
        __syncthreads();
        m = M[i * Width + t + x];
        n = N[(t + y) * Width + j];
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[y][k] * b[k][x];
        __syncthreads();
    }
    P[i * Width + j] = s;
}
