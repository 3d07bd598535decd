__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    const float4* rows = reinterpret_cast<const float4*>(M);
    float sum = 0.0f;
    for (int q = 0; q < (Width + 3) / 4; ++q) {
        float4 m = rows[row * ((Width + 3) / 4) + q];
        int k = 4 * q;
        sum += m.x * N[k * Width + col];
        if (k + 1 < Width) sum += m.y * N[(k + 1) * Width + col];
        if (k + 2 < Width) sum += m.z * N[(k + 2) * Width + col];
        if (k + 3 < Width) sum += m.w * N[(k + 3) * Width + col];
    }
    P[row * Width + col] = sum;
}
