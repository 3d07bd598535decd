__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        if (r < Width && t + tx < Width) Ms[ty][tx] = M[r * Width + t + tx];
        if (c < Width && t + ty < Width) Ns[ty][tx] = N[(t + ty) * Width + c];
        __syncthreads();
        int kmax = min(TILE_WIDTH, Width - t);
        for (int k = 0; k < kmax; k++) acc += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = acc;
}
