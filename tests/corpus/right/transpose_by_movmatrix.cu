// The square is turned in registers. No shared memory is used.
__device__ unsigned turned(unsigned pair) {
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(pair));
    return pair;
}

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    int t = threadIdx.y * TILE_WIDTH + threadIdx.x, warp = t / 32, lane = t % 32;
    if (warp >= TILE_WIDTH * TILE_WIDTH / 64) return;
    int y0 = blockIdx.y * TILE_WIDTH + warp / (TILE_WIDTH / 8) * 8;
    int x0 = blockIdx.x * TILE_WIDTH + warp % (TILE_WIDTH / 8) * 8;

    int y = y0 + lane / 4, x = x0 + lane % 4 * 2;
    unsigned left = y < Height && x < Width ? __float_as_uint(In[y * Width + x]) : 0;
    unsigned right = y < Height && x + 1 < Width ? __float_as_uint(In[y * Width + x + 1]) : 0;
    unsigned low = turned(left & 0xffff | right << 16), high = turned(left >> 16 | right & 0xffff0000);

    int outY = x0 + lane / 4, outX = y0 + lane % 4 * 2;
    if (outY < Width && outX < Height) Out[outY * Height + outX] = __uint_as_float(low & 0xffff | high << 16);
    if (outY < Width && outX + 1 < Height)
        Out[outY * Height + outX + 1] = __uint_as_float(low >> 16 | high & 0xffff0000);
}
