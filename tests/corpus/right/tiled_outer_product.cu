__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float m[2][TILE_WIDTH], n[2][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    for (int k = 0; k < Width; ++k) {
        if (x == 0) m[k & 1][y] = i < Width ? M[i * Width + k] : 0;
        if (y == 0) n[k & 1][x] = j < Width ? N[k * Width + j] : 0;
        __syncthreads();
        s = fma(m[k & 1][y], n[k & 1][x], s);
    }
    if (i < Width && j < Width) P[i * Width + j] = s;
}
