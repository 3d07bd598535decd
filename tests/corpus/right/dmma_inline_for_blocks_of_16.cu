// Eight warps, four of which multiply: a warp has 8x8 elements of P, two in each thread.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int lane = (threadIdx.y * 16 + threadIdx.x) % 32, warp = (threadIdx.y * 16 + threadIdx.x) / 32;
    if (warp >= 4) return;
    int group = lane / 4, in_group = lane % 4;
    int row = blockIdx.y * 16 + warp / 2 * 8 + group, col = blockIdx.x * 16 + warp % 2 * 8;
    double c0 = 0.0, c1 = 0.0;
    for (int k = in_group; k - in_group < Width; k += 4) {
        double a = row < Width && k < Width ? M[row * Width + k] : 0.0f;
        double b = col + group < Width && k < Width ? N[k * Width + col + group] : 0.0f;
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c0), "+d"(c1) : "d"(a), "d"(b));
    }
    col += 2 * in_group;
    if (row < Width && col < Width) P[row * Width + col] = (float)c0;
    if (row < Width && col + 1 < Width) P[row * Width + col + 1] = (float)c1;
}
