__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    int k = 0;
    if (row >= Width || col >= Width) goto done;
again:
    if (k == Width) goto store;
    sum += M[row * Width + k] * N[k * Width + col];
    k++;
    goto again;
store:
    P[row * Width + col] = sum;
done:
    return;
}
