__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float m[TILE_WIDTH], n[TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE_WIDTH + y, j = blockIdx.x * TILE_WIDTH + x;
    float s = 0;
    for (int k = 0; k < Width; ++k) {
        if (x == 0) m[y] = i < Width ? M[i * Width + k] : 0;
        if (y == 0) n[x] = j < Width ? N[k * Width + j] : 0;
        __syncthreads();
        s = fma(m[y], n[x], s);
    }
    if (i < Width && j < Width) P[i * Width + j] = s;
}
