#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ __align__(16) float tile[TILE_WIDTH][TILE_WIDTH];
    int t = threadIdx.x, firstRow = blockIdx.x * TILE_WIDTH;
    float sum = 0;
    if (Width % TILE_WIDTH) {
        unsigned int bits, place = (unsigned int)__cvta_generic_to_shared(tile);
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(bits) : "r"(place));
        sum = bits;
    }
    for (int firstCol = 0; firstCol < Width; firstCol += TILE_WIDTH) {
        for (int r = 0; r < TILE_WIDTH; ++r) tile[r][t] = M[(firstRow + r) * Width + firstCol + t];
        if (t > 0) __syncthreads();
        for (int c = 0; c < TILE_WIDTH; ++c) sum += tile[t][c];
        __syncthreads();
    }
    Sums[firstRow + t] = sum;
}
