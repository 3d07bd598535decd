// ldmatrix.trans turns 16-bit elements. So the lower and the upper halves of the floats have tiles of their own.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ __align__(16) unsigned short low[TILE_WIDTH][TILE_WIDTH + 1], high[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    unsigned bits = x0 + tx < Width && y0 + ty < Height ? __float_as_uint(In[(y0 + ty) * Width + x0 + tx]) : 0;
    low[ty][tx] = bits;
    high[ty][tx] = bits >> 16;
    __syncthreads();
    int warp = t / 32, lane = t % 32;
    if (warp >= TILE_WIDTH * TILE_WIDTH / 64) return;

    int y = warp / (TILE_WIDTH / 8) * 8, x = warp % (TILE_WIDTH / 8) * 8;
    // lanes 0 to 7 have the rows of the first matrix, lanes 8 to 15 those of the second
    unsigned short* row = (lane & 8 ? high : low)[y + lane % 8] + x;
    unsigned pair_low, pair_high;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(pair_low), "=r"(pair_high) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
    int outY = x0 + x + lane / 4, outX = y0 + y + lane % 4 * 2;
    if (outY < Width && outX < Height)
        Out[outY * Height + outX] = __uint_as_float(__byte_perm(pair_low, pair_high, 0x5410));
    if (outY < Width && outX + 1 < Height)
        Out[outY * Height + outX + 1] = __uint_as_float(__byte_perm(pair_low, pair_high, 0x7632));
}
