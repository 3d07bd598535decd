// Each warp turns squares of 8x8: the identity times the square, which B holds by columns.
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int x0 = blockIdx.x * TILE_WIDTH, y0 = blockIdx.y * TILE_WIDTH;
    tile[ty][tx] = x0 + tx < Width && y0 + ty < Height ? In[(y0 + ty) * Width + x0 + tx] : 0.0f;
    __syncthreads();

    int lane = t % 32, group = lane / 4, k = lane % 4;
    for (int square = t / 32; square < TILE_WIDTH * TILE_WIDTH / 64; square += TILE_WIDTH * TILE_WIDTH / 32) {
        int y = square / (TILE_WIDTH / 8) * 8, x = square % (TILE_WIDTH / 8) * 8;
        double d0 = 0.0, d1 = 0.0;
        for (int half = 0; half < 8; half += 4) {
            double a = group == k + half, b = tile[y + group][x + k + half];
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d0), "+d"(d1) : "d"(a), "d"(b));
        }
        int outY = x0 + x + group, outX = y0 + y + 2 * k;
        if (outY < Width && outX < Height) Out[outY * Height + outX] = d0;
        if (outY < Width && outX + 1 < Height) Out[outY * Height + outX + 1] = d1;
    }
}
