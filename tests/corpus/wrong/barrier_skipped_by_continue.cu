__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[TILE_WIDTH][TILE_WIDTH], b[TILE_WIDTH][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        a[y][x] = i < Width && t + x < Width ? M[i * Width + t + x] : 0;
        b[y][x] = j < Width && t + y < Width ? N[(t + y) * Width + j] : 0;
        __syncthreads();
        if (i >= Width || j >= Width) continue;
        for (int k = 0; k < TILE_WIDTH; ++k) s += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (i < Width && j < Width) P[i * Width + j] = s;
}
