enum { TILE_WIDTH = 16 };

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float tile[16][17];
    int t = threadIdx.x, firstRow = blockIdx.x << 4;
    float sum = 0;
    for (int phase = 0; phase < Width >> 4; ++phase) {
        for (int r = 0; r < 16; ++r) tile[r][t] = M[(firstRow + r) * Width + (phase << 4) + t];
        __syncthreads();
        for (int c = 0; c < 16; ++c) sum += tile[t][c];
        __syncthreads();
    }
    Sums[firstRow + t] = sum;
}
