#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    volatile __shared__ float ms[TILE_WIDTH][TILE_WIDTH];
    volatile __shared__ float ns[TILE_WIDTH][TILE_WIDTH];
    int c = threadIdx.x, r = threadIdx.y;
    int R = blockIdx.y * TILE_WIDTH + r, C = blockIdx.x * TILE_WIDTH + c;
    float s = 0;
    int p = 0;
    while (p < Width) {
        ms[r][c] = (R < Width && p + c < Width) ? M[R * Width + p + c] : 0;
        ns[r][c] = (p + r < Width && C < Width) ? N[(p + r) * Width + C] : 0;
        __syncthreads();
        int k = 0;
        while (k < TILE_WIDTH) { s += ms[r][k] * ns[k][c]; k++; }
        __syncthreads();
        p += TILE_WIDTH;
    }
    if (R < Width && C < Width) P[R * Width + C] = s;
}
