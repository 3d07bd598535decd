__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        Ms[ty][tx] = r < Width && t + tx < Width ? M[r * Width + t + tx] : 0.f;
        Ns[ty][tx] = c < Width && t + ty < Width ? N[(t + ty) * Width + c] : 0.f;
        __syncthreads();
        if (r < Width && c < Width) {
            for (int k = 0; k < TILE_WIDTH; k++) acc += Ms[ty][k] * Ns[k][tx];
            __syncthreads();
        }
    }
    if (r < Width && c < Width) P[r * Width + c] = acc;
}
