__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    int k = 0;
    for (; k + 4 <= Width; k += 4) {
        float4 m = *(const float4*)&M[row * Width + k];
        sum += m.x * N[k * Width + col] + m.y * N[(k + 1) * Width + col]
             + m.z * N[(k + 2) * Width + col] + m.w * N[(k + 3) * Width + col];
    }
    for (; k < Width; ++k)
        sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
