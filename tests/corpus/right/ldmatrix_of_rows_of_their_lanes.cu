// Two warps turn squares of 8 x 8. Lanes 0 to 7 hold the lower halves of the rows, lanes 8 to 15 the upper ones.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ __align__(16) unsigned short rows[2][16][8];
    int t = threadIdx.y * TILE_WIDTH + threadIdx.x, warp = t / 32, lane = t % 32;
    int squares = TILE_WIDTH / 8;
    if (warp >= 2) return;
    for (int i = warp; i < squares * squares; i += 2) {
        int y = blockIdx.y * TILE_WIDTH + i / squares * 8, x = blockIdx.x * TILE_WIDTH + i % squares * 8;
        unsigned short* row = rows[warp][lane % 16];
        if (lane < 16)
            for (int c = 0; c < 8; ++c) {
                bool inside = y + lane % 8 < Height && x + c < Width;
                unsigned bits = inside ? __float_as_uint(In[(y + lane % 8) * Width + x + c]) : 0;
                row[c] = lane < 8 ? bits : bits >> 16;
            }
        __syncwarp();
        unsigned low, high;
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(low), "=r"(high) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
        int outY = x + lane / 4, outX = y + lane % 4 * 2;
        if (outY < Width && outX < Height) Out[outY * Height + outX] = __uint_as_float(__byte_perm(low, high, 0x5410));
        if (outY < Width && outX + 1 < Height)
            Out[outY * Height + outX + 1] = __uint_as_float(__byte_perm(low, high, 0x7632));
        __syncwarp();
    }
}
