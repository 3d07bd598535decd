//!tilelab block=(64,1) grid=(ceil(Width/64), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ double pairs[64];
    int t = threadIdx.x, col = blockIdx.x * 64 + t, row = blockIdx.y;
    if (2 * t < Width) {
        float a = M[row * Width + 2 * t], b = 2 * t + 1 < Width ? M[row * Width + 2 * t + 1] : 0.0f;
        pairs[t] = __hiloint2double(__float_as_int(b), __float_as_int(a));
    }
    float sum = 0;
    if (col < Width) {
        for (int k = 0; k < Width; ++k) sum += ((volatile float*)pairs)[k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
