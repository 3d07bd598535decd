__device__ float top(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float big = 0.0f, small = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float m = M[row * Width + k], n = N[k * Width + col];
        float hi = top(m);
        float lo = top(m - hi);
        big += hi * n;
        small += lo * n;
    }
    P[row * Width + col] = big + small;
}
