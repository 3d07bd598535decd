#define TILE_WIDTH 16
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float cell[TILE_WIDTH][TILE_WIDTH];
    int t = threadIdx.x, top = blockIdx.x * TILE_WIDTH;
    float total = 0.f;
    for (int c0 = 0; c0 < Width; c0 += TILE_WIDTH) {
        for (int r = 0; r < TILE_WIDTH; r++) cell[r][t] = M[(top + r) * Width + c0 + t];
        __syncthreads();
        for (int c = 0; c < TILE_WIDTH; c++) total += cell[t][c];
        __syncthreads();
    }
    Sums[top + t] = total;
}
