const int TILE_WIDTH = 8;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH * TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH * TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, at = ty * TILE_WIDTH + tx;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int first = 0; first < Width; first += TILE_WIDTH) {
        Ms[at] = row < Width && first + tx < Width ? M[row * Width + first + tx] : 0.0f;
        Ns[at] = col < Width && first + ty < Width ? N[(first + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty * TILE_WIDTH + k] * Ns[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
