//!tilelab block=(16,16) grid=(ceil(Width/32), ceil(Width/16))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= Width || col >= Width) return;
    float2 sum = make_float2(0.0f, 0.0f);
    bool both = col + 1 < Width;
    for (int k = 0; k < Width; ++k) {
        float m = M[row * Width + k];
        sum.x += m * N[k * Width + col];
        if (both) sum.y += m * N[k * Width + col + 1];
    }
    if (both)
        *reinterpret_cast<float2*>(P + row * Width + col) = sum;
    else
        P[row * Width + col] = sum.x;
}
