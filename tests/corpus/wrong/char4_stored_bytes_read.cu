//!tilelab block=(64,1) grid=(ceil(Width/64), Width)
__device__ char4 signs[128 * 2][64];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int t = threadIdx.x, col = blockIdx.x * 64 + t, row = blockIdx.y;
    char4* mine = signs[row * 2 + blockIdx.x];
    auto sign = [&](int k) -> signed char { return k < Width && M[row * Width + k] < 0 ? -1 : 1; };
    if (4 * t < Width) mine[t] = make_char4(sign(4 * t), sign(4 * t + 1), sign(4 * t + 2), sign(4 * t + 3));
    float sum = 0;
    if (col < Width) {
        for (int k = 0; k < Width; ++k)
            sum += ((signed char*)mine)[k] * fabsf(M[row * Width + k]) * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
