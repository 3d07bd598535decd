// stmatrix.trans stores the square that each warp holds in registers by columns.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ __align__(16) unsigned short halves[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx, warp = t / 32, lane = t % 32;
    int firstRow = blockIdx.y * TILE_WIDTH, firstCol = blockIdx.x * TILE_WIDTH;
    if (warp < TILE_WIDTH * TILE_WIDTH / 64) {
        int y = warp / (TILE_WIDTH / 8) * 8, x = warp % (TILE_WIDTH / 8) * 8;
        unsigned v[2] = {0, 0};
        for (int i = 0; i < 2; ++i) {
            int row = firstRow + y + lane / 4, col = firstCol + x + lane % 4 * 2 + i;
            if (row < Height && col < Width) v[i] = __float_as_uint(In[row * Width + col]);
        }
        unsigned low = __byte_perm(v[0], v[1], 0x5410), high = __byte_perm(v[0], v[1], 0x7632);
        unsigned to = (unsigned)__cvta_generic_to_shared(&halves[lane / 8 % 2][x + lane % 8][y]);
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                     :: "r"(to), "r"(low), "r"(high) : "memory");
    }
    __syncthreads();
    if (firstCol + ty < Width && firstRow + tx < Height)
        Out[(firstCol + ty) * Height + firstRow + tx] =
            __uint_as_float(halves[0][ty][tx] | (unsigned)halves[1][ty][tx] << 16);
}
